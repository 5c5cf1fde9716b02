# SPDX-License-Identifier: Apache-2.0
# attack: B24
# title: use more processors than there are for it
# backends: docker
# expect: completed exit
# layers: processor quota
# evidence: cores
# control docker: cores cpu
# may-lack: a second processor that is idle
echo "$TRIED"
for i in 1 2 3 4 5 6; do
    timeout 2 sh -c 'while :; do :; done' &
done
wait
