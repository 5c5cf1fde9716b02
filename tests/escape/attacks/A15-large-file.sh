# SPDX-License-Identifier: Apache-2.0
# attack: A15
# title: a file larger than files may be
# backends: docker, process
# expect: completed exit
# layers: file size limit
# evidence: proof
# control docker: fsize
# control process: rlimit-fsize
(head -c 20000000 /dev/zero >/tmp/large)
[ "$(stat -c %s /tmp/large)" -lt 18000000 ] || echo "$PROOF"
rm -f /tmp/large
echo "$TRIED"
