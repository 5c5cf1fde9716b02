# SPDX-License-Identifier: Apache-2.0
# attack: A4
# title: read a file of the host through the root of another process
# backends: docker, process
# expect: completed exit
# layers: pid namespace, no capabilities
# evidence: token
# control docker: processes capabilities user seccomp
# control process: impossible the user namespace stands before it, and none is made without that one
cat "/proc/1/root$CANARY_DIR/for-root" "/proc/$GATEWAY/root$CANARY_DIR/for-root"
echo "$TRIED"
