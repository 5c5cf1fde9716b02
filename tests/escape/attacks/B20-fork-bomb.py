# SPDX-License-Identifier: Apache-2.0
# attack: B20
# title: more processes than there may be (100)
# backends: docker, process
# expect: completed exit | completed process_limit
# layers: process limit
# evidence: tasks
# control docker: pids
# control process: pids
import os
import time

print(os.environ["TRIED"], flush=True)
for _ in range(100):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
time.sleep(1)
