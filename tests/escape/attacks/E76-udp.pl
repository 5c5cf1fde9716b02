# SPDX-License-Identifier: Apache-2.0
# attack: E76
# title: send a datagram to a service of the host's loopback
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: udp
# control docker: network seccomp
# control process: network seccomp landlock
use Socket;
print "$ENV{TRIED}\n";
socket(my $socket, PF_INET, SOCK_DGRAM, 0) or exit 0;
send($socket, "x", 0, pack_sockaddr_in($ENV{UDP_PORT}, inet_aton("127.0.0.1")));
