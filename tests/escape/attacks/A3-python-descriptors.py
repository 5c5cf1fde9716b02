# SPDX-License-Identifier: Apache-2.0
# attack: A3
# title: find what an interpreter that waited has still open
# backends: docker, process
# expect: completed exit
# layers: nothing is inherited
# evidence: proof
# control docker: bind leaked-descriptor
# control process: leaked-descriptor landlock
import os

for descriptor in range(3, 1024):
    try:
        os.fstat(descriptor)
    except OSError:
        continue
    print(os.environ["PROOF"], descriptor)
print(os.environ["TRIED"])
