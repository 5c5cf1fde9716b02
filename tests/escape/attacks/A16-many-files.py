# SPDX-License-Identifier: Apache-2.0
# attack: A16
# title: more files than there may be
# backends: docker, process
# expect: completed exit | completed disk_full
# layers: inodes of the scratch
# evidence: proof
# control docker: scratch-inodes
# control process: scratch-inodes
import os
import time

made = 0
print(os.environ["TRIED"], flush=True)
while made < 900:
    open(f"{os.environ['TMPDIR']}/name{made}", "w").close()
    made += 1
time.sleep(1)  # files that are counted at intervals, and are there for less, have gained nothing
print(os.environ["PROOF"])
