# SPDX-License-Identifier: Apache-2.0
# attack: A8
# title: become root by a set-user-id program
# backends: docker
# expect: completed exit
# layers: no new privileges
# evidence: token
# control docker: new-privileges
# given docker: bind
"$CANARY_DIR/setuid" "$CANARY_DIR/for-root"
echo "$TRIED"
