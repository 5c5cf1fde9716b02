# SPDX-License-Identifier: Apache-2.0
# attack: A1
# title: read what is the machine's root's alone in a directory that is shown
# backends: process
# expect: completed exit
# layers: ordinary user
# evidence: token
# given process: bind
# control process: root-user
cat "$CANARY_DIR/for-root"
echo "$TRIED"
