# SPDX-License-Identifier: Apache-2.0
# attack: E79
# title: connect to a service of the host by IPv6
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: tcp
# control docker: network seccomp
# control process: network seccomp landlock
# may-lack: IPv6
import os
import socket

print(os.environ["TRIED"], flush=True)
socket.create_connection(("::1", int(os.environ["TCP6_PORT"])), 1)
