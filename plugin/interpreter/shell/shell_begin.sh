# SPDX-License-Identifier: Apache-2.0
# Begins the shell of a session: the names that its loop needs (shell_loop.sh, which is $1). All of them begin with _ce_.
# $2: /proc/PID/fd of the process that takes the cells (main.c), and there $3: a pipe with the names of the files to execute,
# $4: a pipe for what is to be said, $5: the file that begins a cell.
_ce_loop=$1 _ce_fd=$2 _ce_orders=$2/$3 _ce_answers=$2/$4 _ce_begin=$2/$5 _ce_status= _ce_exit= _ce_back=
_ce_return() {
  return "$1"
}
# The number of this process, as $$ is that of the first one. Without a view of its own a sandbox has no file of /proc.
_ce_self=
_ce_look='IFS=" " command read -r _ce_self _ce_rest </proc/self/stat'
{ eval "$_ce_look" || :; } 2>/dev/null
case $_ce_self:${BASH_VERSION:+bash} in
:bash) _ce_look='_ce_self=$BASHPID' ;;
:*) _ce_look='_ce_self=$(exec /bin/sh -c "echo \$PPID")' ;;
esac
# That of BusyBox executes no trap once it has come out of one by a fork, so its copy is forked here. Only it has this variable ahead of
# all commands. What ends a cell without "exit", such as "set -e", ends such a shell the second time.
case ${BASH_VERSION:+bash}:${FUNCNAME+busybox} in
:busybox) _ce_forks=yes ;;
*) _ce_forks=no ;;
esac
# Where dash executes a trap, as it does behind a cell that has exited, its exit without a status means that of the trap's begin.
_ce_leave() {
  _ce_status=${1-$?}
  case $_ce_forks:$_ce_status in
  no:* | *:*[!0-9]* | *:) command exit "$_ce_status" ;;
  esac
  eval "$_ce_look"
  case $_ce_self in
  "$_ce_pid")
    command trap '' INT
    command trap - EXIT
    exec 0<&- 1>&- 2>&-
    (eval "$_ce_loop")
    ;;
  esac
  command exit "$_ce_status"
}
# The trap of a program. Ours on EXIT keeps the session alive, so a cell's own is kept aside, and is executed at the end of the cell.
_ce_trap() {
  case ${1-} in
  --) shift ;;
  -[lp]*)
    command trap "$@"
    return
    ;;
  esac
  case $#:${1-} in
  0:*)
    command trap
    return
    ;;
  1:* | *:[0-9]*) set -- - "$@" ;;
  esac
  _ce_action=$1 _ce_result=0
  shift
  eval "$_ce_look"
  for _ce_signal do
    case $_ce_self:$_ce_signal in
    "$_ce_pid:EXIT" | "$_ce_pid:0")
      case $_ce_action in
      -) _ce_exit= ;;
      *) _ce_exit=$_ce_action ;;
      esac
      ;;
    *) command trap -- "$_ce_action" "$_ce_signal" || _ce_result=$? ;;
    esac
  done
  return "$_ce_result"
}
# A function cannot have the name in a shell that follows POSIX.
case ${BASH_VERSION:+bash}:${SHELLOPTS-} in
bash:*posix* | :*) alias trap=_ce_trap exit=_ce_leave ;;
*) eval 'trap() { _ce_trap "$@"; }' ;;
esac
eval "$_ce_loop"
