# SPDX-License-Identifier: Apache-2.0
# attack: C42
# title: connect to an abstract socket of the host
# backends: docker, process
# expect: completed exit
# layers: network namespace
# evidence: abstract
# control docker: network
# control process: network landlock
use Socket;
$| = 1;
print "$ENV{TRIED}\n";
socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or exit 0;
connect($socket, pack_sockaddr_un("\0$ENV{ABSTRACT}"));
