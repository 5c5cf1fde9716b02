# SPDX-License-Identifier: Apache-2.0
# attack: C40
# title: see a process of the host
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: proof
# control docker: processes
# control process: processes host-proc
[ ! -d "/proc/$SENTINEL" ] || echo "$PROOF"
echo "$TRIED"
