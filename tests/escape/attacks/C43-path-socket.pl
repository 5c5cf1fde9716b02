# SPDX-License-Identifier: Apache-2.0
# attack: C43
# title: connect to a socket of the host by its path
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: unix
# control docker: bind
# control process: bind
use Socket;
$| = 1;
print "$ENV{TRIED}\n";
socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or exit 0;
connect($socket, pack_sockaddr_un("$ENV{CANARY_DIR}/socket"));
