# SPDX-License-Identifier: Apache-2.0
# attack: A15
# title: a file larger than files may be
# backends: docker, process
# expect: completed exit
# layers: file size limit
# evidence: proof
# control docker: fsize
# control process: rlimit-fsize
$SIG{XFSZ} = "IGNORE";
open(my $file, ">", "large");
truncate($file, 1 << 30);
print "$ENV{PROOF}\n" if -s "large" > 18000000;
unlink "large";
print "$ENV{TRIED}\n";
