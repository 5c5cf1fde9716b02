# SPDX-License-Identifier: Apache-2.0
# attack: B22
# title: a daemon that holds the output open after the program's end
# backends: docker, process
# expect: completed exit
# layers: pid namespace ends with the program
# evidence: time left
# control docker: bare
# control process: bare
echo "$TRIED"
(setsid sleep "$LONG" &)
