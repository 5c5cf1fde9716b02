# SPDX-License-Identifier: Apache-2.0
# attack: D66
# title: a byte now and then, so that it never looks dead
# backends: docker, process
# expect: timeout wall_timeout
# layers: wall clock
# evidence: time
# control docker: timeout=9000
# control process: timeout=9000
# timeout: 600
echo "$TRIED"
i=0
while [ $i -lt 40 ]; do
    printf x
    sleep "$STEP"
    i=$((i + 1))
done
