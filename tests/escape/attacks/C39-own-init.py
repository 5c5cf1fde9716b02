# SPDX-License-Identifier: Apache-2.0
# attack: C39
# title: read memory or descriptors of the sandbox's first process, by its number
# backends: unprivileged
# expect: completed exit
# layers: first process is not dumpable, Landlock
# evidence: proof
# control process: become_unreadable enter_inner_domain
import os

init = f"/proc/{os.getppid()}"
for attempt in (lambda: os.readlink(f"{init}/exe"), lambda: os.listdir(f"{init}/fd"), lambda: open(f"{init}/mem", "rb")):
    try:
        if attempt():
            print(os.environ["PROOF"])
    except OSError:
        pass
print(os.environ["TRIED"])
