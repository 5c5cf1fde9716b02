# SPDX-License-Identifier: Apache-2.0
# attack: A1
# title: look into the home of the image's root
# backends: docker
# expect: completed exit
# layers: ordinary user
# evidence: proof
# control docker: user
ls /root >/dev/null 2>&1 && echo "$PROOF"
echo "$TRIED"
