/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-process: the backend of process mode (and of mode none). Started by the plugin with
 * descriptor 3 as its control socket and nothing else; ends with the host.
 */
#include <sys/prctl.h>

#include "backends/common/enter.h"
#include "backends/process/supervisor/supervisor.h"
#include "base/cleanup.h"
#include "protocol/channel.h"

int main(void)
{
    CLEANUP_CLOSE int host = backend_enter();
    /* Adopts orphans whose subreaper has died. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return host < 0 || supervisor_serve(BACKEND_CONTROL_FD, host) < 0;
}
