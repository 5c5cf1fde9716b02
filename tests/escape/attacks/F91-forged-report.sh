# SPDX-License-Identifier: Apache-2.0
# attack: F91
# title: output that looks like a frame of the guest's: nothing was started
# backends: docker
# expect: completed exit
# layers: the program's output is inside of the guest's frames
# evidence: error
# control docker: stream:late
sleep 0.2
printf "\\$(printf %03o ${#FORGED})\\000\\000\\000\\005%s" "$FORGED"
echo "$TRIED"
