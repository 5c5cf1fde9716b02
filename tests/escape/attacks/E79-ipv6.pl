# SPDX-License-Identifier: Apache-2.0
# attack: E79
# title: connect to a service of the host by IPv6
# backends: docker, process
# expect: completed exit
# layers: network namespace, seccomp
# evidence: tcp
# control docker: network seccomp
# control process: network seccomp landlock
# may-lack: IPv6
use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6);
print "$ENV{TRIED}\n";
socket(my $socket, PF_INET6, SOCK_STREAM, 0) or exit 0;
connect($socket, pack_sockaddr_in6($ENV{TCP6_PORT}, inet_pton(PF_INET6, "::1")));
