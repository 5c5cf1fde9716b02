# SPDX-License-Identifier: Apache-2.0
# attack: C60
# title: learn the name of the machine
# backends: process
# expect: completed exit
# layers: uts namespace
# evidence: proof
# control process: set_host_name
[ "$(uname -n)" = sandbox ] || echo "$PROOF"
echo "$TRIED"
