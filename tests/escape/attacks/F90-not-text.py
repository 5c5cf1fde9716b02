# SPDX-License-Identifier: Apache-2.0
# attack: F90
# title: output that is no text: bytes that are no UTF-8, NUL, quotes, escapes
# backends: docker, process
# expect: completed exit
# layers: output is made text
# evidence: json
# control docker: naive
# control process: naive
import os
import sys

sys.stdout.buffer.write(os.environ["TRIED"].encode() + b'\xff\xfe\x00"\\\xed\xa0\x80\x1b[2J\x1b]0;x\x07\xe2\x80\xae\xc2\x9b\n"}')
