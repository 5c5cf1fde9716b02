# SPDX-License-Identifier: Apache-2.0
# attack: F92
# title: print the secret it was given
# backends: docker, process
# expect: completed exit
# layers: redaction
# evidence: secret
# control docker: plain-secret
# control process: plain-secret
echo "$TRIED" "$KEY"
echo "$KEY" >&2
