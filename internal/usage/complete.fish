# Completion of cgemu for fish. Made by: cgemu completion fish
#
# What may stand at the cursor is asked of cgemu itself: its first line says what kind of operand, the
# others are words, each with a text behind a tab.

function __cgemu_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    or return
    set -l head (string split ' ' -- $answer[1])
    set -e answer[1]
    printf '%s\n' $answer

    # The part of the word in front of a file's name: --root=
    set -l option (string match -r -- '^-[^=]*=' "$current")
    set -l name (string replace -- "$option" '' "$current")
    switch $head[1]
        case files
            __fish_complete_path "$name" | string replace -r -- '^' "$option"
        case directories
            __fish_complete_directories "$name" | string replace -r -- '^' "$option"
        case program
            test -n "$current"; and complete -C "$current" | string match -r -- '^[^\t]*\tcommand.*'
            __fish_complete_path "$current"
        case arguments
            set -l first (math $head[2] + 2)
            complete -C (string join ' ' -- (string escape -- $before[$first..-1]) "$current")
    end
end

complete -c cgemu -f -a '(__cgemu_complete)'
