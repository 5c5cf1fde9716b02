# SPDX-License-Identifier: Apache-2.0
# attack: C43
# title: find the engine's or an agent's socket where it usually is
# backends: docker
# expect: completed exit
# layers: mount namespace, no binds
# evidence: unix
# control docker: bind-engine-socket
use Socket;
$| = 1;
print "$ENV{TRIED}\n";
for my $path (qw(/run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock /run/dbus/system_bus_socket),
              glob("/run/user/*/bus /tmp/ssh-*/agent.* /run/user/*/gnupg/S.gpg-agent")) {
    socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or next;
    connect($socket, pack_sockaddr_un($path));
}
