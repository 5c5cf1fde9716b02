# SPDX-License-Identifier: Apache-2.0
# attack: B25
# title: stop itself and its parents, so that nothing ends
# backends: docker, process
# expect: timeout wall_timeout
# layers: wall clock
# evidence: time
# control docker: timeout=4000
# control process: timeout=4000
# timeout: 500
echo "$TRIED"
kill -STOP 1 2>/dev/null
kill -STOP $$
