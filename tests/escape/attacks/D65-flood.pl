# SPDX-License-Identifier: Apache-2.0
# attack: D65
# title: output without an end
# backends: docker, process
# expect: killed output_limit
# layers: output limit
# evidence: time
# control docker: limit:output_total_bytes=100000000
# control process: limit:output_total_bytes=100000000
$| = 1;
print "$ENV{TRIED}\n";
for (1 .. 40) {
    print "x" x 600000;
    select(undef, undef, undef, $ENV{STEP});
}
