# SPDX-License-Identifier: Apache-2.0
# attack: C40
# title: read the environment of a process of the host
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: token
# control docker: processes
# control process: none
tr "\0" "\n" <"/proc/$SENTINEL/environ"
echo "$TRIED"
