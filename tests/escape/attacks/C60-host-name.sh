# SPDX-License-Identifier: Apache-2.0
# attack: C60
# title: learn the name of the machine
# backends: docker
# expect: completed exit
# layers: uts namespace
# evidence: proof
# control docker: host-name
[ "$(cat /proc/sys/kernel/hostname)" = sandbox ] || echo "$PROOF"
echo "$TRIED"
