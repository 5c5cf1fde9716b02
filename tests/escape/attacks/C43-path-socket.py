# SPDX-License-Identifier: Apache-2.0
# attack: C43
# title: connect to a socket of the host by its path
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: unix
# control docker: bind
# control process: bind
import os
import socket

print(os.environ["TRIED"], flush=True)
socket.socket(socket.AF_UNIX).connect(os.environ["CANARY_DIR"] + "/socket")
