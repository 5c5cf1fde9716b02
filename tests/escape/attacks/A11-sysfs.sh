# SPDX-License-Identifier: Apache-2.0
# attack: A11
# title: look at the machine through /sys
# backends: docker, process
# expect: completed exit
# layers: masked path
# evidence: proof
# control docker: masked-paths
# control process: sysfs
ls /sys/* >/dev/null 2>&1 && echo "$PROOF"
echo "$TRIED"
