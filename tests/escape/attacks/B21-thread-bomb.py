# SPDX-License-Identifier: Apache-2.0
# attack: B21
# title: more threads than there may be processes (100)
# backends: docker, process
# expect: completed exit | completed process_limit
# layers: process limit
# evidence: tasks
# control docker: pids
# control process: pids
import os
import threading
import time

print(os.environ["TRIED"], flush=True)
for _ in range(100):
    threading.Thread(target=time.sleep, args=(1,)).start()
