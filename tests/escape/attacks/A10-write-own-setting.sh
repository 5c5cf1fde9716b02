# SPDX-License-Identifier: Apache-2.0
# attack: A10
# title: change a kernel setting of the own network namespace
# backends: docker
# expect: completed exit
# layers: read-only /proc/sys, ordinary user
# evidence: proof
# control docker: read-only-paths user
setting=/proc/sys/net/ipv4/ip_default_ttl
echo 77 >$setting
[ "$(cat $setting)" != 77 ] || echo "$PROOF"
echo "$TRIED"
