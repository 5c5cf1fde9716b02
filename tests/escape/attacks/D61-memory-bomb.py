# SPDX-License-Identifier: Apache-2.0
# attack: D61
# title: more memory than there may be (240 MiB)
# backends: docker, process
# expect: killed memory_limit
# layers: memory limit
# evidence: memory
# control docker: memory
# control process: memory
import os
import time

print(os.environ["TRIED"], flush=True)
blocks = []
for _ in range(240):
    blocks.append(b"x" * (1 << 20))
time.sleep(0.3)
