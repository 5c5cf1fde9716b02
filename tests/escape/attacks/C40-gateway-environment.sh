# SPDX-License-Identifier: Apache-2.0
# attack: C40
# title: read the environment of the gateway
# backends: docker, process
# expect: completed exit
# layers: pid namespace, ordinary user, no capabilities
# evidence: token
# control docker: processes user capabilities seccomp
# control process: none
tr "\0" "\n" <"/proc/$GATEWAY/environ"
echo "$TRIED"
