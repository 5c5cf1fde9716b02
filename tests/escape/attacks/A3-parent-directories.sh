# SPDX-License-Identifier: Apache-2.0
# attack: A3
# title: climb to the host's root by ..
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: token
# control docker: bind
# control process: bind
cd ../../../../../../../../..
cat "./$CANARY_DIR/file"
echo "$TRIED"
