# SPDX-License-Identifier: Apache-2.0
# attack: A15
# title: fill the scratch file system with files that are each small enough
# backends: docker, process
# expect: completed exit
# layers: size of the scratch
# evidence: proof
# control docker: scratch-size
# control process: scratch-size
echo "$TRIED"
for i in 1 2 3 4; do yes | head -c 12000000 >"$TMPDIR/part$i"; done
[ "$(cat "$TMPDIR"/part* | wc -c)" -lt 40000000 ] || echo "$PROOF"
rm -f "$TMPDIR"/part*
