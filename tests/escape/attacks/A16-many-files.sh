# SPDX-License-Identifier: Apache-2.0
# attack: A16
# title: more files than there may be
# backends: docker, process
# expect: completed exit | completed disk_full
# layers: inodes of the scratch
# evidence: proof
# control docker: scratch-inodes
# control process: scratch-inodes
i=0
while [ $i -lt 900 ] && true >"$TMPDIR/name$i"; do i=$((i + 1)); done 2>/dev/null
[ $i -lt 800 ] || echo "$PROOF"
rm -f "$TMPDIR"/name*
echo "$TRIED"
