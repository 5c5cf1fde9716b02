# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: write a file of the host by its path
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: file
# control docker: bind
# control process: bind landlock
import os

print(os.environ["TRIED"], flush=True)
open(os.environ["CANARY_DIR"] + "/written", "w").write("x")
