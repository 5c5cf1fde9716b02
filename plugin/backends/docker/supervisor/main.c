/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-docker: the backend of docker mode. Started by the plugin with descriptor 3 as its
 * control socket and nothing else; removes its containers and ends with the host.
 */
#include <signal.h>

#include "backends/common/enter.h"
#include "backends/docker/supervisor/supervisor.h"
#include "base/cleanup.h"
#include "protocol/channel.h"

int main(void)
{
    CLEANUP_CLOSE int host = backend_enter();
    (void)signal(SIGPIPE, SIG_IGN); /* pipes to a plugin that has gone */
    return host < 0 || supervisor_serve(BACKEND_CONTROL_FD, host) < 0;
}
