# SPDX-License-Identifier: Apache-2.0
# attack: C38
# title: read the memory of a process of the host through /proc
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: token
# control docker: processes
# control process: none
print "$ENV{TRIED}\n";
open(my $memory, "<:raw", "/proc/$ENV{SENTINEL}/mem") or exit 0;
sysseek($memory, $ENV{ADDRESS}, 0);
sysread($memory, my $text, 32);
print "$text\n";
