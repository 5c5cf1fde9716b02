# SPDX-License-Identifier: Apache-2.0
# attack: E75
# title: connect to a service of the host's loopback
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: tcp
# control docker: network seccomp
# control process: network seccomp landlock
import os
import socket

print(os.environ["TRIED"], flush=True)
socket.create_connection(("127.0.0.1", int(os.environ["TCP_PORT"])), 1)
