# SPDX-License-Identifier: Apache-2.0
# attack: C40
# title: read the environment of a process of the host
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: token
# control docker: processes
# control process: impossible it would read every environment of the machine
print "$ENV{TRIED}\n";
for my $path (glob "/proc/[0-9]*/environ") {
    next unless open(my $file, "<", $path);
    print <$file>;
}
