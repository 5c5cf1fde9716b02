# SPDX-License-Identifier: Apache-2.0
# attack: D64
# title: more descriptors than there may be
# backends: docker, process
# expect: completed exit
# layers: descriptor limit
# evidence: proof
# control docker: nofile
# control process: rlimit-nofile
import os

print(os.environ["TRIED"], flush=True)
for _ in range(200):
    os.dup(0)
print(os.environ["PROOF"])
