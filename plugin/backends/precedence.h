/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host may have before others (systemd.exec(5): CPUSchedulingPolicy=, Nice=,
 * IOSchedulingClass=, OOMScoreAdjust=) is handed down to every process it starts. A program is to
 * have none of it: it would run before the machine's own processes, and be killed after them where
 * memory is short.
 */
#pragma once

/* Of the calling process, which starts the others. As /proc is the machine's, before the process
 * becomes undumpable. 0, or -1 with errno where it keeps some of it. */
int precedence_give_up(void);
