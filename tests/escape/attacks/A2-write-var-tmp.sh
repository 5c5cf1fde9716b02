# SPDX-License-Identifier: Apache-2.0
# attack: A2
# title: write where every user of the image may
# backends: docker
# expect: completed exit
# layers: read-only root
# evidence: rootfs
# control docker: read-only-root
true >/var/tmp/written
true >/run/lock/written
echo "$TRIED"
