# SPDX-License-Identifier: Apache-2.0
# attack: C43
# title: take a descriptor from a socket that is made in the workspace during the run
# backends: process
# expect: completed exit
# layers: overlay over the workspace
# evidence: token unix
# workspace: yes
# control process: workspace-overlay
import array
import os
import socket
import time


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


before = set(os.listdir("/work/late"))
while not (late := set(os.listdir("/work/late")) - before):
    time.sleep(0.01)
print(os.environ["TRIED"], flush=True)
take("/work/late/" + late.pop())
