# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: write to /etc/written
# backends: docker
# expect: completed exit
# layers: read-only root, ordinary user
# evidence: rootfs
# control docker: read-only-root user
true >/etc/written
echo "$TRIED"
