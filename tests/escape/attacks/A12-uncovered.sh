# SPDX-License-Identifier: Apache-2.0
# attack: A12
# title: find a part of /proc and /sys that is not covered
# backends: docker
# expect: completed exit
# layers: masked paths
# evidence: proof
# control docker: masked-paths
for path in /proc/acpi /proc/asound /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/sched_debug /proc/scsi \
    /proc/sysrq-trigger /proc/timer_list /proc/timer_stats /sys/kernel; do
    [ ! -e $path ] || grep -q " $path " /proc/self/mountinfo || echo "$PROOF"
done
echo "$TRIED"
