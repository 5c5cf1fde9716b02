# SPDX-License-Identifier: Apache-2.0
# attack: A10
# title: open a kernel setting for writing; nothing is written
# backends: docker
# expect: completed exit
# layers: read-only /proc/sys, ordinary user
# evidence: proof
# control docker: read-only-paths user
(exec 3>>/proc/sys/kernel/core_pattern) && echo "$PROOF"
echo "$TRIED"
