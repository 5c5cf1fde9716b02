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
for my $frame ([1, "$ENV{TRIED}\n"], [2, $ENV{FORGED}]) {
    print pack("CxxxN", $frame->[0], length $frame->[1]) . $frame->[1];
    sleep 0.2;
}
