# SPDX-License-Identifier: Apache-2.0
# attack: D64
# title: more descriptors than there may be
# backends: docker, process
# expect: completed exit
# layers: descriptor limit
# evidence: proof
# control docker: nofile
# control process: rlimit-nofile
print "$ENV{TRIED}\n";
my @files;
for (1 .. 200) {
    open(my $file, "<", "/dev/null") or exit 0;
    push @files, $file;
}
print "$ENV{PROOF}\n";
