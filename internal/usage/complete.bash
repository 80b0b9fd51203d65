# Completion of cgemu for bash. Made by: cgemu completion bash
#
# What may stand at the cursor is asked of cgemu itself: its first line says what kind of operand, the
# others are words, each with a text behind a tab.

_cgemu() {
    # The words up to the cursor, as cgemu will get them: bash cuts them at = and :.
    local words=() piece gap i
    local rest=${COMP_LINE:0:COMP_POINT}
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            gap=${rest%%[![:space:]]*}
            piece=${rest#"$gap"}
        elif [[ $piece ]]; then
            gap=${rest%%"$piece"*}
            rest=${rest#"$gap$piece"}
        fi
        if ((i == 0)); then
            continue
        elif [[ $gap || ! $piece || ${#words[@]} -eq 0 ]]; then
            words+=("$piece")
        else
            words[${#words[@]} - 1]+=$piece
        fi
    done

    local answer
    answer=$("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null) || return
    local kind=${answer%% *}
    local skip=${answer#* }
    skip=${skip%%$'\n'*}

    # What bash takes for the word at the cursor begins behind the last = or : of it.
    local current=${words[${#words[@]} - 1]} known=
    if [[ $COMP_WORDBREAKS == *=* && $current == *=* ]]; then
        known=${current%"${current##*=}"}
    fi
    COMPREPLY=()
    local line
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$known"}")
    done < <(tail -n +2 <<<"$answer")

    # bash 3.2, which macOS has, does without compopt.
    case $kind in
    program)
        if [[ $current ]]; then
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(compgen -c -- "$current" | sort -u)
        fi
        ;;
    directories) type compopt &>/dev/null && compopt +o default -o dirnames ;;
    nothing) type compopt &>/dev/null && compopt +o default ;;
    arguments)
        if type _command_offset &>/dev/null && ((skip + 1 < COMP_CWORD)) && [[ ${COMP_LINE:0:COMP_POINT} != *[=:]* ]]; then
            _command_offset $((skip + 1))
        fi
        ;;
    esac
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        type compopt &>/dev/null && compopt -o nospace
    fi
}

complete -o default -F _cgemu cgemu
