# SPDX-License-Identifier: Apache-2.0
# attack: B20
# title: more processes than there may be (100)
# backends: docker, process
# expect: completed exit | completed process_limit
# layers: process limit
# evidence: tasks
# control docker: pids
# control process: pids
$| = 1;
print "$ENV{TRIED}\n";
for (1 .. 100) {
    my $child = fork();
    if (defined $child && $child == 0) { sleep 1; exit 0; }
}
sleep 1;
