# SPDX-License-Identifier: Apache-2.0
# Completion of toolhost for bash. Commands, options and what their values are come from "toolhost completion-words", which prints the
# tables that toolhost itself reads its command line by.

# _toolhost_files KIND WORD: names of files or directories; blanks in them are kept.
_toolhost_files() {
    local action=-f
    if [ "$1" = directory ]; then action=-d; fi
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$action" -- "$2")
}

# _toolhost_value KIND WORD: the value of an option of that kind.
_toolhost_value() {
    case $1 in
    file | directory) _toolhost_files "$1" "$2" ;;
    words\ *) mapfile -t COMPREPLY < <(compgen -W "${1#words }" -- "$2") ;;
    esac
}

_toolhost() {
    local word=$2 before=$3 toolhost=$1 command='' line kind argument
    local -a words=() names=()
    COMPREPLY=()
    # readline splits at "=" and ":" too: --option=value is three words.
    if [ "$word" = = ]; then word=; before=${COMP_WORDS[COMP_CWORD - 1]}; fi
    if [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
    local commands
    commands=$("$toolhost" completion-words 2>/dev/null)
    for argument in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [ -z "$command" ] && grep -qxF "command $argument" <<<"$commands"; then command=$argument; fi
        if [ "$argument" = -- ]; then _toolhost_files file "$word"; return; fi
    done
    mapfile -t words < <("$toolhost" completion-words ${command:+"$command"} 2>/dev/null)
    for line in "${words[@]}"; do
        read -r _ argument kind <<<"$line"
        if [[ $line == option\ * && $argument == "$before" && -n $kind ]]; then
            _toolhost_value "$kind" "$word"
            return
        fi
        if [[ $word == -* && $line == option\ --* ]] || [[ $word != -* && $line != option\ * ]]; then names+=("$argument"); fi
    done
    if [ -n "$command" ] && [[ $word != -* ]] && { [ "$before" != "$command" ] || [ ${#names[@]} -eq 0 ]; }; then
        _toolhost_files file "$word"
    else
        mapfile -t COMPREPLY < <(compgen -W "${names[*]}" -- "$word")
    fi
}
complete -F _toolhost toolhost
