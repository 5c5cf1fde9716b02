/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D64
 * title: raise a limit
 * backends: docker, process
 * expect: completed exit
 * layers: no capabilities
 * evidence: proof
 * control docker: impossible the engine cannot give CAP_SYS_RESOURCE on every machine
 * control process: impossible root may, where it has CAP_SYS_RESOURCE
 */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_max++;
    return tell(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}
