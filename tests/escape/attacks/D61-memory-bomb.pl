# SPDX-License-Identifier: Apache-2.0
# attack: D61
# title: more memory than there may be (240 MiB)
# backends: docker, process
# expect: killed memory_limit
# layers: memory limit
# evidence: memory
# control docker: memory
# control process: memory
$| = 1;
print "$ENV{TRIED}\n";
my @blocks;
push @blocks, "x" x (1 << 20) for 1 .. 240;
sleep 1;
