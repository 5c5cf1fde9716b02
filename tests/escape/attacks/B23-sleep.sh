# SPDX-License-Identifier: Apache-2.0
# attack: B23
# title: sleep without end
# backends: docker, process
# expect: timeout wall_timeout
# layers: wall clock
# evidence: time
# control docker: timeout=9000
# control process: timeout=9000
# timeout: 500
echo "$TRIED"
sleep "$LONG"
