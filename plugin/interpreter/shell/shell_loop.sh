# SPDX-License-Identifier: Apache-2.0
# The loop of a session's shell (shell_begin.sh): executes one cell after the other at the top level, where no function is in the way.
# Where a cell exits, however that comes about, the trap forks a copy of the shell with all that it has, and the copy goes on here. The
# process that takes the cells kills the one that waits for it. Between two cells 0-2 are closed, so that no stream of a cell is kept open.
command trap '_ce_status=$?; command trap "" INT; exec 0<&- 1>&- 2>&-; ( eval "$_ce_loop" )' EXIT
command trap '' INT
exec 0<&- 1>&- 2>&-
eval "$_ce_look"
_ce_pid=$_ce_self
while :; do
  # The action of the cell's own trap. It may exit as well, and does not happen twice.
  case $_ce_exit in
  ?*)
    _ce_action=$_ce_exit _ce_exit=
    command trap 'exit 130' INT
    case ${_ce_status:-0} in
    0) eval "$_ce_action" <"$_ce_fd/0" >"$_ce_fd/1" 2>"$_ce_fd/2" ;;
    *) _ce_return "$_ce_status" || eval "$_ce_action" <"$_ce_fd/0" >"$_ce_fd/1" 2>"$_ce_fd/2" ;;
    esac
    command trap '' INT
    ;;
  esac
  # The variables of the request are the cell's alone.
  _ce_action=$_ce_back _ce_back=
  eval "$_ce_action"
  case ${BASH_VERSION-} in
  ?*) command compgen -A function -A variable >"$_ce_answers" || : ;;
  esac
  command printf '%s %s\n' "$_ce_pid" "$_ce_status" >"$_ce_answers"
  IFS= command read -r _ce_file <"$_ce_orders"
  command trap 'exit 130' INT
  command trap 'exit 143' TERM
  . "$_ce_begin"
  . "$_ce_file" <"$_ce_fd/0" >"$_ce_fd/1" 2>"$_ce_fd/2"
  _ce_status=$?
  command trap '' INT
done
