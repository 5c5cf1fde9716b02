# SPDX-License-Identifier: Apache-2.0
# attack: C42
# title: connect to an abstract socket of the host
# backends: docker, process
# expect: completed exit
# layers: network namespace
# evidence: abstract
# control docker: network
# control process: network landlock
import os
import socket

print(os.environ["TRIED"], flush=True)
socket.socket(socket.AF_UNIX).connect("\0" + os.environ["ABSTRACT"])
