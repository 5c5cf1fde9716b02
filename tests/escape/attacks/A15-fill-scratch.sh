# SPDX-License-Identifier: Apache-2.0
# attack: A15
# title: fill the scratch file system with files that are each small enough
# backends: docker, process
# expect: completed exit
# layers: size of the scratch
# evidence: proof
# control docker: scratch-size
# control process: scratch-size
for i in 1 2 3 4; do head -c 12000000 /dev/zero >"/tmp/part$i"; done
[ "$(cat /tmp/part* | wc -c)" -lt 40000000 ] || echo "$PROOF"
rm -f /tmp/part*
echo "$TRIED"
