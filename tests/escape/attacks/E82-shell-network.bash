# SPDX-License-Identifier: Apache-2.0
# attack: E82
# title: connect to a service of the host by the shell's own means
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: tcp
# control docker: network seccomp
# control process: network seccomp landlock
echo x >"/dev/tcp/127.0.0.1/$TCP_PORT"
echo "$TRIED"
