# SPDX-License-Identifier: Apache-2.0
# attack: D65
# title: output without an end
# backends: docker, process
# expect: killed output_limit
# layers: output limit
# evidence: output
# control docker: limit:output_total_bytes=50000000
# control process: limit:output_total_bytes=50000000
$| = 1;
print "$ENV{TRIED}\n";
print "x" x 10000 for 1 .. 1200;
