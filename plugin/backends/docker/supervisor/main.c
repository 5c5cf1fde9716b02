/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-docker: the backend of docker mode. Started by the plugin with descriptor 3 as its
 * control socket and nothing else; removes its containers and ends with the host. The loop is
 * guest_runs/supervisor/. Single-threaded.
 */
#include "backends/common/control.h"
#include "backends/docker/container/embedded_texts.h"
#include "backends/docker/run/docker_run.h"
#include "backends/guest_runs/supervisor/supervisor.h"
#include "base/cleanup.h"

static bool serve(int host_pidfd)
{
    static struct image_store images;
    static struct docker_environment environment = {.guests.provider = &docker_provider,
                                                    .images = &images};
    environment.client = engine_client_new();
    if (!environment.client)
        return false;
    environment.seccomp[0] = seccomp_profile_text;
    environment.seccomp[1] = seccomp_profile_with_network_text;
    bool served =
        owner_self(&environment.owner) && supervisor_serve(&environment.guests, host_pidfd);
    image_store_clear(&environment);
    engine_clear_all(&environment);
    engine_client_free(environment.client);
    return served;
}

int main(void)
{
    CLEANUP_CLOSE int host = backend_enter();
    return host < 0 || !serve(host);
}
