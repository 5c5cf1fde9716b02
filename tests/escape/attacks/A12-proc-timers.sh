# SPDX-License-Identifier: Apache-2.0
# attack: A12
# title: read /proc/timer_list
# backends: docker, process
# expect: completed exit
# layers: masked path, ordinary user
# evidence: proof
# control docker: masked-paths user capabilities
# control process: none
# may-lack: /proc/timer_list
[ -z "$(head -c 64 /proc/timer_list 2>/dev/null | tr -d '\0')" ] || echo "$PROOF"
echo "$TRIED"
