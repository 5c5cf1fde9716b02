# SPDX-License-Identifier: Apache-2.0
# attack: A3
# title: reach the host through a descriptor left open
# backends: docker, process
# expect: completed exit
# layers: nothing is inherited
# evidence: token
# control docker: leaked-descriptor
# control process: leaked-descriptor landlock
for fd in 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    cat "/proc/self/fd/$fd/file" "/proc/self/fd/$fd/../../file" 2>/dev/null
done
echo "$TRIED"
