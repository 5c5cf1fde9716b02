# SPDX-License-Identifier: Apache-2.0
# attack: C55
# title: read what others keep in /dev/shm
# backends: docker, process
# expect: completed exit
# layers: ipc namespace
# evidence: token
# control docker: ipc
# control process: shared-file
cat "$SHARED" /dev/shm/*
echo "$TRIED"
