# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: leave files where no room was given
# backends: process
# expect: completed exit
# layers: read-only view, Landlock
# evidence: proof
# control process: make_view_read_only landlock
for place in / /etc /dev /home; do
    true >"$place/written" && echo "$PROOF"
done
echo "$TRIED"
