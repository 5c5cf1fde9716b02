# SPDX-License-Identifier: Apache-2.0
# attack: E76
# title: send a datagram to a service of the host's loopback
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: udp
# control docker: network seccomp
# control process: network seccomp landlock
import os
import socket

print(os.environ["TRIED"], flush=True)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(os.environ["UDP_PORT"])))
