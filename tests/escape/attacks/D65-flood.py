# SPDX-License-Identifier: Apache-2.0
# attack: D65
# title: output without an end
# backends: docker, process
# expect: killed output_limit
# layers: output limit
# evidence: time
# control docker: limit:output_total_bytes=100000000
# control process: limit:output_total_bytes=100000000
import os
import time

print(os.environ["TRIED"], flush=True)
for _ in range(40):
    os.write(1, b"x" * 600000)
    time.sleep(float(os.environ["STEP"]))
