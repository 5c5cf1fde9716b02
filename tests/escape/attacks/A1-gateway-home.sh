# SPDX-License-Identifier: Apache-2.0
# attack: A1
# title: read the gateway's home
# backends: docker, process
# expect: completed exit
# layers: mount namespace, no binds
# evidence: token
# control docker: gateway-home
# control process: gateway-home
cat "$GATEWAY_HOME"/* "$HOME/../"*/.ssh/* /root/.ssh/* /root/.aws/* 2>/dev/null
find / -xdev -path "$GATEWAY_HOME*" 2>/dev/null
echo "$TRIED"
