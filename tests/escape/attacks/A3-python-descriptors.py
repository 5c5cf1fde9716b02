# SPDX-License-Identifier: Apache-2.0
# attack: A3
# title: find what an interpreter that waited has still open
# backends: docker, process
# expect: completed exit
# layers: nothing is inherited
# evidence: proof
# control docker: leaked-descriptor
# control process: leaked-descriptor landlock
import fcntl
import os
import stat

RESULTS = 63  # RUN_RESULTS_FD, the program's own pipe for what it shows
PROGRAM = 61  # in a container: /dev/null, in the place of the program's own file (main_run.py)


def is_own(descriptor, status):
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    if descriptor == PROGRAM:
        return stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat("/dev/null").st_rdev and flags & os.O_ACCMODE == os.O_RDONLY
    return descriptor == RESULTS and stat.S_ISFIFO(status.st_mode) and flags & os.O_ACCMODE == os.O_WRONLY


for descriptor in range(3, 1024):
    try:
        status = os.fstat(descriptor)
    except OSError:
        continue
    if is_own(descriptor, status):
        continue
    print(os.environ["PROOF"], descriptor)
print(os.environ["TRIED"])
