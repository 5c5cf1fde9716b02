# SPDX-License-Identifier: Apache-2.0
# attack: D71
# title: fill the engine's disk with output
# backends: docker
# expect: completed exit
# layers: no log driver
# evidence: disk
# control docker: log
echo "$TRIED"
head -c 3000000 /dev/zero | tr "\0" x
sleep 0.4
