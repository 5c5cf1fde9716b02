# SPDX-License-Identifier: Apache-2.0
# attack: D63
# title: memory by way of the scratch file systems, which are two
# backends: docker
# expect: completed exit | killed memory_limit
# layers: memory limit
# evidence: memory
# control docker: memory scratch-size fsize
echo "$TRIED"
for i in 1 2 3 4 5 6; do
    head -c 40000000 /dev/zero >"/tmp/part$i"
    head -c 40000000 /dev/zero >"$HOME/part$i"
    [ $i -lt 4 ] || break
done
sleep 0.3
