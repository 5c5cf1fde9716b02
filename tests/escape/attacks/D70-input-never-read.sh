# SPDX-License-Identifier: Apache-2.0
# attack: D70
# title: input that is never read
# backends: docker, process
# expect: timeout wall_timeout
# layers: wall clock
# evidence: time
# control docker: timeout=9000
# control process: timeout=9000
# timeout: 600
# stdin: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
echo "$TRIED"
sleep "$LONG"
