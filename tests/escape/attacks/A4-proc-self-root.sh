# SPDX-License-Identifier: Apache-2.0
# attack: A4
# title: read a file of the host through /proc/self/root and cwd
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: token
# control docker: bind
# control process: bind
cat "/proc/self/root$CANARY_DIR/file" "/proc/self/cwd/../..$CANARY_DIR/file" "/proc/thread-self/root$CANARY_DIR/file"
echo "$TRIED"
