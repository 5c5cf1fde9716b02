# SPDX-License-Identifier: Apache-2.0
# attack: A9
# title: find a device that is none of the harmless ones
# backends: docker
# expect: completed exit
# layers: no devices, device cgroup
# evidence: proof
# control docker: device
for device in /dev/*; do
    case $device in
    /dev/full | /dev/null | /dev/ptmx | /dev/random | /dev/tty | /dev/urandom | /dev/zero) continue ;;
    esac
    [ -h "$device" ] || [ ! -c "$device" ] && [ ! -b "$device" ] || echo "$PROOF"
done
echo "$TRIED"
