# SPDX-License-Identifier: Apache-2.0
# attack: A12
# title: read /proc/kcore
# backends: docker, process
# expect: completed exit
# layers: masked path, no capabilities
# evidence: proof
# control docker: masked-paths user capabilities
# control process: none
# may-lack: /proc/kcore
[ -z "$(head -c 64 /proc/kcore 2>/dev/null | tr -d '\0')" ] || echo "$PROOF"
echo "$TRIED"
