# SPDX-License-Identifier: Apache-2.0
# attack: E75
# title: connect to a service of the host's loopback
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: tcp
# control docker: network seccomp
# control process: network seccomp landlock
use Socket;
print "$ENV{TRIED}\n";
socket(my $socket, PF_INET, SOCK_STREAM, 0) or exit 0;
connect($socket, pack_sockaddr_in($ENV{TCP_PORT}, inet_aton("127.0.0.1")));
