# SPDX-License-Identifier: Apache-2.0
# attack: A15
# title: a file larger than files may be
# backends: docker, process
# expect: completed exit
# layers: file size limit
# evidence: proof
# control docker: fsize
# control process: rlimit-fsize
(yes | head -c 20000000 >"$TMPDIR/large")
[ "$(stat -c %s "$TMPDIR/large")" -lt 18000000 ] || echo "$PROOF"
rm -f "$TMPDIR/large"
echo "$TRIED"
