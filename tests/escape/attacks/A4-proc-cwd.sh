# SPDX-License-Identifier: Apache-2.0
# attack: A4
# title: read a file of the host through the working directory of its process
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: token
# control docker: processes
# control process: none
cat "/proc/$SENTINEL/cwd/file"
echo "$TRIED"
