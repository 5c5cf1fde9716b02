# SPDX-License-Identifier: Apache-2.0
# attack: B20
# title: more processes than there may be (100)
# backends: docker, process
# expect: completed exit | completed process_limit
# layers: process limit
# evidence: tasks
# control docker: pids
# control process: pids
echo "$TRIED"
i=0
while [ $i -lt 100 ]; do
    sleep 1 &
    i=$((i + 1))
done 2>/dev/null
wait
