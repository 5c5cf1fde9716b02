# SPDX-License-Identifier: Apache-2.0
# attack: C40
# title: read what a process of the host has open
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: token
# control docker: processes
# control process: none
cat "/proc/$SENTINEL/fd/$DESCRIPTOR"
echo "$TRIED"
