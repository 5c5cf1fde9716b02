# SPDX-License-Identifier: Apache-2.0
# attack: A11
# title: learn where the engine keeps its control groups
# backends: docker
# expect: completed exit
# layers: cgroup namespace
# evidence: proof
# control docker: cgroup-namespace
grep -q ":/." /proc/self/cgroup && echo "$PROOF"
echo "$TRIED"
