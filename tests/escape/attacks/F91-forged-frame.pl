# SPDX-License-Identifier: Apache-2.0
# attack: F91
# title: output that looks like the engine's framing
# backends: docker
# expect: completed exit
# layers: framing by lengths
# evidence: stderr
# control docker: stream:unframed
use Time::HiRes qw(sleep);
$| = 1;
print "$ENV{TRIED}\n";
sleep 0.2;
print pack("CxxxN", 2, length $ENV{FORGED}) . $ENV{FORGED};
sleep 0.2;
