# SPDX-License-Identifier: Apache-2.0
# attack: A12
# title: read /proc/keys
# backends: docker, process
# expect: completed exit
# layers: masked path
# evidence: proof
# control docker: masked-paths user capabilities
# control process: none
# may-lack: /proc/keys
[ -z "$(head -c 64 /proc/keys 2>/dev/null | tr -d '\0')" ] || echo "$PROOF"
echo "$TRIED"
