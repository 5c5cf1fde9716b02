# SPDX-License-Identifier: Apache-2.0
# attack: B24
# title: spin, deaf to every signal that can be caught
# backends: docker, process
# expect: killed signal | killed cpu_limit
# layers: processor time limit
# evidence: cputime
# timeout: 20000
# control docker: cpu
# control process: rlimit-cpu timeout=20000
$| = 1;
$SIG{$_} = "IGNORE" for qw(XCPU TERM INT HUP ALRM);
print "$ENV{TRIED}\n";
1 while (times)[0] < $ENV{LONG};
