# SPDX-License-Identifier: Apache-2.0
# attack: E80
# title: connect to a cloud's metadata service
# backends: docker
# expect: completed exit
# layers: network namespace, seccomp
# evidence: tcp
# control docker: network-of-other seccomp
import os
import socket

print(os.environ["TRIED"], flush=True)
socket.create_connection(("169.254.169.254", 80), 1)
