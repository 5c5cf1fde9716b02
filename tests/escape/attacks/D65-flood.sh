# SPDX-License-Identifier: Apache-2.0
# attack: D65
# title: output without an end
# backends: docker, process
# expect: killed output_limit
# layers: output limit
# evidence: time
# control docker: limit:output_total_bytes=100000000
# control process: limit:output_total_bytes=100000000
echo "$TRIED"
i=0
while [ $i -lt 40 ]; do
    head -c 600000 /dev/zero
    sleep "$STEP"
    i=$((i + 1))
done
