# SPDX-License-Identifier: Apache-2.0
# attack: C55
# title: read System V memory of the host
# backends: docker, process
# expect: completed exit
# layers: ipc namespace
# evidence: token
# control docker: ipc
# control process: ipc
print "$ENV{TRIED}\n";
my $memory = shmget($ENV{SHM_KEY}, 0, 0);
exit 0 unless defined $memory;
shmread($memory, my $text, 0, 32);
print "$text\n";
