# SPDX-License-Identifier: Apache-2.0
# attack: B24
# title: use more processors than there are for it
# backends: docker
# expect: completed exit
# layers: processor quota
# evidence: cores
# control docker: cores cpu
echo "$TRIED"
for i in 1 2 3 4 5 6; do
    (while :; do :; done) &
done
sleep 2
kill %1 %2 %3 %4 %5 %6 2>/dev/null
exit 0
