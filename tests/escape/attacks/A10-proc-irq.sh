# SPDX-License-Identifier: Apache-2.0
# attack: A10
# title: open an interrupt's settings for writing; nothing is written
# backends: docker
# expect: completed exit
# layers: read-only /proc/irq, ordinary user
# evidence: proof
# control docker: read-only-paths user
for setting in /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity; do
    (exec 3>>"$setting") 2>/dev/null && echo "$PROOF"
done
echo "$TRIED"
