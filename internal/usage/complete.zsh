#compdef cgemu
# Completion of cgemu for zsh. Made by: cgemu completion zsh
#
# What may stand at the cursor is asked of cgemu itself: its first line says what kind of operand, the
# others are words, each with a text behind a tab.

_cgemu() {
    local -a answer names shown
    local line kind skip
    answer=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    kind=${answer[1]%% *}
    skip=${answer[1]##* }
    for line in "${(@)answer[2,-1]}"; do
        names+=("${line%%$'\t'*}")
        if [[ $line == *$'\t'* ]]; then
            shown+=("${line%%$'\t'*}  -- ${line#*$'\t'}")
        else
            shown+=("$line")
        fi
    done
    if (( $#names )); then
        # A value follows an equals sign at once.
        local -a open openShown whole wholeShown
        local i
        for (( i = 1; i <= $#names; i++ )); do
            if [[ $names[i] == *= ]]; then
                open+=("$names[i]"); openShown+=("$shown[i]")
            else
                whole+=("$names[i]"); wholeShown+=("$shown[i]")
            fi
        done
        (( $#open )) && compadd -l -S '' -d openShown -- "${(@)open}"
        (( $#whole )) && compadd -l -d wholeShown -- "${(@)whole}"
    fi
    case $kind in
    files) [[ $PREFIX == -*=* ]] && compset -P '*='; _files ;;
    directories) [[ $PREFIX == -*=* ]] && compset -P '*='; _files -/ ;;
    program) [[ -n $PREFIX ]] && _command_names -e; _files ;;
    arguments)
        shift $(( skip + 1 )) words
        (( CURRENT -= skip + 1 ))
        _normal
        ;;
    esac
}

# Both as a file of fpath, which is run when it is first needed, and by eval.
if [[ $funcstack[1] == _cgemu ]]; then
    _cgemu "$@"
else
    compdef _cgemu cgemu
fi
