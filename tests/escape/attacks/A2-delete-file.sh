# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: delete and rename files of the host
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: file
# control docker: bind
# control process: bind landlock
mv "$CANARY_DIR/file" "$CANARY_DIR/gone"
rm -f "$CANARY_DIR/socket"
echo "$TRIED"
