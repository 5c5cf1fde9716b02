# SPDX-License-Identifier: Apache-2.0
# attack: A12
# title: read /proc/interrupts
# backends: docker, process
# expect: completed exit
# layers: masked path
# evidence: proof
# control docker: masked-paths
# control process: host-proc
[ -z "$(head -c 64 /proc/interrupts 2>/dev/null | tr -d '\0')" ] || echo "$PROOF"
echo "$TRIED"
