# SPDX-License-Identifier: Apache-2.0
# attack: C39
# title: read what the sandbox's first process was started with
# backends: docker
# expect: completed exit
# layers: nothing of the request is in the configuration
# evidence: token
# control docker: environment readable-guest
tr "\0" "\n" </proc/1/environ
tr "\0" "\n" </proc/1/cmdline
echo "$TRIED"
