# SPDX-License-Identifier: Apache-2.0
# attack: A10
# title: find a part of /proc with settings that is not mounted read-only
# backends: docker
# expect: completed exit
# layers: read-only paths
# evidence: proof
# control docker: read-only-paths
for path in /proc/bus /proc/fs /proc/irq /proc/sys; do
    [ ! -e $path ] || grep -q " $path ro," /proc/self/mountinfo || echo "$PROOF"
done
echo "$TRIED"
