# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: add an account to /etc/passwd
# backends: docker
# expect: completed exit
# layers: read-only root, ordinary user
# evidence: rootfs
# control docker: read-only-root user
import os

print(os.environ["TRIED"], flush=True)
open("/etc/passwd", "a").write("x::0:0::/:/bin/sh\n")
