# SPDX-License-Identifier: Apache-2.0
# attack: F92
# title: print the secret it was given
# backends: docker, process
# expect: completed exit
# layers: redaction
# evidence: secret
# control docker: plain-secret
# control process: plain-secret
$| = 1;
print "$ENV{TRIED}\n", substr($ENV{KEY}, 0, 5);
select(undef, undef, undef, 0.3);
print substr($ENV{KEY}, 5), "\n";
