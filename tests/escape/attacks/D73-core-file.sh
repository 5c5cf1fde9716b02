# SPDX-License-Identifier: Apache-2.0
# attack: D73
# title: leave a core file
# backends: docker, process
# expect: completed exit
# layers: core limit
# evidence: proof
# control docker: impossible a hard limit of the engine's own cannot be raised on every machine
# control process: rlimit-core
ulimit -c unlimited 2>/dev/null
ulimit -c 1000 2>/dev/null && echo "$PROOF"
sh -c "kill -ABRT \$\$"
ls core* >/dev/null 2>&1 && echo "$PROOF"
echo "$TRIED"
