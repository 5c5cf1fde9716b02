# SPDX-License-Identifier: Apache-2.0
# attack: C39
# title: read memory, program or descriptors of the sandbox's first process, whose copy a waiting interpreter may be
# backends: process
# expect: completed exit
# layers: first process is not dumpable, Landlock
# evidence: proof
# control process: readable-init landlock
import os

for attempt in (lambda: os.readlink("/proc/1/exe"), lambda: os.listdir("/proc/1/fd"), lambda: open("/proc/1/maps").read(1),
                lambda: open("/proc/1/mem", "rb"), lambda: open("/proc/1/environ").read()):
    try:
        if attempt():
            print(os.environ["PROOF"])
    except OSError:
        pass
print(os.environ["TRIED"])
