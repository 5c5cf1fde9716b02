# SPDX-License-Identifier: Apache-2.0
# attack: C43
# title: take a descriptor from a socket in the workspace that is the own user's alone
# backends: process
# expect: completed exit
# layers: overlay over the workspace
# evidence: token unix
# workspace: yes
# control process: workspace-overlay
# given process: user
import array
import os
import socket


def take(path):
    """Reads the file whose descriptor the socket's owner gives away."""
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(5)
        peer.connect(path)
        control = peer.recvmsg(1, socket.CMSG_LEN(4))[1]
        descriptor = array.array("i", control[0][2])[0]
        print(os.read(descriptor, 4096).decode(), flush=True)
    except (OSError, IndexError) as error:
        print(path, error, flush=True)


print(os.environ["TRIED"], flush=True)
take("/work/own-socket")
