# SPDX-License-Identifier: Apache-2.0
# attack: A1
# title: read the passwords of the image
# backends: docker, process
# expect: completed exit
# layers: ordinary user
# evidence: proof
# control docker: user
# control process: none
test -r /etc/shadow && cat /etc/shadow >/dev/null && echo "$PROOF"
echo "$TRIED"
