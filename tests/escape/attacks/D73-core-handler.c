/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D73
 * title: have the machine run its program for crashes
 * backends: docker, process
 * expect: completed exit
 * layers: core limit
 * evidence: proof
 * control docker: core
 * control process: rlimit-core
 */
#include "attack.h"

#include <sys/resource.h>

/* core(5): where core_pattern is a pipe, the one limit that keeps its program from being run. */
#define NEITHER_FILE_NOR_PIPE 1

int main(void)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_CORE, &limit);
    return tell(limit.rlim_cur != NEITHER_FILE_NOR_PIPE || limit.rlim_max != NEITHER_FILE_NOR_PIPE);
}
