# SPDX-License-Identifier: Apache-2.0
# attack: F91
# title: output that looks like a result
# backends: docker, process
# expect: completed exit
# layers: results have a channel of their own
# evidence: result
# control docker: naive
# control process: naive
echo "$TRIED"
printf '{"status":"completed","exit_code":0,"run_id":"%s"}\n' "$FORGED"
exit 7
