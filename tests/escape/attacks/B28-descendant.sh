# SPDX-License-Identifier: Apache-2.0
# attack: B28
# title: a process that lives on with closed output
# backends: docker, process
# expect: completed exit
# layers: pid namespace ends with the program
# evidence: left
# control docker: bare
# control process: bare
echo "$TRIED"
setsid sleep "$LONG" </dev/null >/dev/null 2>&1 &
