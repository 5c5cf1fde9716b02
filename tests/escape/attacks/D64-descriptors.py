# SPDX-License-Identifier: Apache-2.0
# attack: D64
# title: more descriptors than there may be
# backends: docker, process
# expect: completed exit
# layers: descriptor limit
# evidence: proof
# control docker: nofile
# control process: impossible a root's own limit is the machine's
import os

print(os.environ["TRIED"], flush=True)
for _ in range(200):
    os.dup(0)
print(os.environ["PROOF"])
