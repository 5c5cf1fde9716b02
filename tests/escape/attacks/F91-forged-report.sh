# SPDX-License-Identifier: Apache-2.0
# attack: F91
# title: output that looks like the last words of the bootstrap
# backends: docker
# expect: completed exit
# layers: the report ends before the program begins
# evidence: error
# control docker: stream:late
sleep 0.2
echo "-$FORGED"
echo "?"
echo "$TRIED"
