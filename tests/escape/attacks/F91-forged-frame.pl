# SPDX-License-Identifier: Apache-2.0
# attack: F91
# title: output that looks like the frames of engine and guest
# backends: docker
# expect: completed exit
# layers: framing by lengths
# evidence: stderr
# control docker: stream:unframed
use Time::HiRes qw(sleep);
$| = 1;
for my $frame ([6, "$ENV{TRIED}\n"], [7, $ENV{FORGED}]) { # of the guest: stdout, stderr
    my $guest = pack("VC", length $frame->[1], $frame->[0]) . $frame->[1];
    print pack("CxxxN", 1, length $guest) . $guest;
    sleep 0.2;
}
