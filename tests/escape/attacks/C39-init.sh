# SPDX-License-Identifier: Apache-2.0
# attack: C39
# title: read memory, program or descriptors of the sandbox's first process
# backends: process
# expect: completed exit
# layers: first process is not dumpable, Landlock
# evidence: proof
# control process: readable-init landlock
readlink /proc/1/exe >/dev/null && echo "$PROOF"
ls /proc/1/fd 2>/dev/null | grep -q . && echo "$PROOF"
head -c 1 /proc/1/maps 2>/dev/null | grep -q . && echo "$PROOF"
echo "$TRIED"
