# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: change a file that everybody may write, in a directory that is shown to be read
# backends: process
# expect: completed exit
# layers: read-only mounts
# evidence: proof
# control process: read-only-mounts
echo changed >>"$SHOWN/file" && echo "$PROOF"
echo "$TRIED"
