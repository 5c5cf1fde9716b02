# SPDX-License-Identifier: Apache-2.0
# attack: D69
# title: close the output and hang
# backends: docker, process
# expect: timeout wall_timeout
# layers: wall clock
# evidence: time
# control docker: timeout=9000
# control process: timeout=9000
# timeout: 600
echo "$TRIED"
exec >&- 2>&-
sleep "$LONG"
