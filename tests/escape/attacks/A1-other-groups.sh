# SPDX-License-Identifier: Apache-2.0
# attack: A1
# title: be in a group that others are in
# backends: docker
# expect: completed exit
# layers: ordinary group, no others
# evidence: proof
# control docker: groups
[ "$(id -G)" = 65534 ] || echo "$PROOF"
echo "$TRIED"
