# SPDX-License-Identifier: Apache-2.0
# attack: A11
# title: learn where the control groups of the run are
# backends: docker, process
# expect: completed exit
# layers: cgroup namespace
# evidence: proof
# control docker: cgroup-namespace
# control process: enter_cgroup_namespace
grep -q ":/." /proc/self/cgroup && echo "$PROOF"
echo "$TRIED"
