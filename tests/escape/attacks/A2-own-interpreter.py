# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: change the interpreter that runs this, whose file is the machine's where it was copied
# backends: docker, process
# expect: completed exit
# layers: owner, read-only mounts, Landlock
# evidence: proof
# control docker: user read-only-root capabilities
# control process: none
import os

FILE = "/proc/self/exe"
mode = os.stat(FILE).st_mode & 0o7777
for attempt in (lambda: os.open(FILE, os.O_WRONLY), lambda: os.chmod(FILE, mode)):
    try:
        attempt()
        print(os.environ["PROOF"])
        break
    except OSError:
        pass
print(os.environ["TRIED"])
