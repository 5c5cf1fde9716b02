# SPDX-License-Identifier: Apache-2.0
# Completion of toolhost for bash. Commands and options are read from "toolhost --help", so that there is one list of them.

# _toolhost_words PATTERN: the first words of the help's lines that match, without what comes after them.
_toolhost_words() {
    "$toolhost" --help 2>/dev/null | sed -nE "s/^  ($1).*/\1/p" | sort -u
}

_toolhost() {
    local word=$2 before=$3 toolhost=$1 argument seen=
    COMPREPLY=()
    case $before in
    --sandbox | --mode) mapfile -t COMPREPLY < <(compgen -W "docker process none" -- "$word"); return ;;
    --approve) mapfile -t COMPREPLY < <(compgen -W "ask always never queue pending cmd: webhook:" -- "$word"); return ;;
    --plugin | --policy | --audit | --stdin | --narrow) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --workspace) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_toolhost_words '--[a-z][a-z-]*') $(
            "$toolhost" --help 2>/dev/null | grep -oE '(^|[ (\[])--[a-z][a-z-]*' | tr -d ' ([')" -- "$word")
        return
    fi
    local commands
    commands=$(_toolhost_words '[a-z]+')
    for argument in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ " ${commands//$'\n'/ } " == *" $argument "* ]]; then seen=$argument; fi
    done
    if [ -n "$seen" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$toolhost" --help 2>/dev/null | sed -nE "s/^  $seen ([a-z]+)\b.*/\1/p")" -- "$word")
        [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    fi
}
complete -o filenames -F _toolhost toolhost
