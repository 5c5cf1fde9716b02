# SPDX-License-Identifier: Apache-2.0
# attack: C43
# title: read and write a FIFO in the workspace
# backends: process
# expect: completed exit
# layers: overlay over the workspace
# evidence: token fifo
# workspace: yes
# control process: workspace-overlay
import os

print(os.environ["TRIED"], flush=True)
try:
    print(os.read(os.open("/work/fifo", os.O_RDONLY | os.O_NONBLOCK), 65536).decode(), flush=True)
finally:
    os.write(os.open("/work/fifo", os.O_WRONLY | os.O_NONBLOCK), b"from inside\n")
