/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C56
 * title: live on behind a first process that can wait for nothing any more
 * backends: process
 * expect: error infrastructure
 * layers: the first process ends the run where it fails itself
 * evidence: time left
 * given process: seccomp
 * control process: impossible the first process would have to be another
 */
#include "attack.h"

#include <sys/resource.h>

/* Without descriptors poll(2) fails; the end of an orphan is what has it called again. */
int main(void)
{
    static const struct rlimit none = {0, 0};
    say("TRIED");
    if (prlimit(1, RLIMIT_NOFILE, &none, NULL) < 0)
        return 0;
    if (fork() == 0) {
        if (fork() == 0) {
            (void)usleep(100000);
            _exit(0);
        }
        if (fork() == 0)
            (void)pause();
        _exit(0);
    }
    (void)pause();
    return 0;
}
