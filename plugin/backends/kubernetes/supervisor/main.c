/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-kubernetes: the backend of mode kubernetes. Started by the plugin with descriptor 3
 * as its control socket and nothing else; removes its pods and ends with the host. The loop is
 * guest_runs/supervisor/. Single-threaded.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/control.h"
#include "backends/guest_runs/supervisor/supervisor.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"
#include "base/sha256.h"

#define GUEST_FILE "code-execute-guest"

/* Beside this program; -1 where it is not there. */
static int open_guest(void)
{
    char path[PATH_MAX + sizeof(GUEST_FILE)];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return -1;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return -1;
    memcpy(slash + 1, GUEST_FILE, sizeof(GUEST_FILE));
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Without it the guests of pods cannot be compared, and every run is refused with that reason. */
static void take_guest_digest(char ret[RUN_HASH_LENGTH + 1])
{
    unsigned char chunk[16384];
    struct sha256 hash;
    ssize_t count = -1;
    CLEANUP_CLOSE int fd = open_guest();
    sha256_begin(&hash);
    while (fd >= 0 && (count = read(fd, chunk, sizeof(chunk))) > 0)
        sha256_add(&hash, chunk, (size_t)count);
    sha256_end(&hash, ret);
    if (count < 0)
        memset(ret, 'x', RUN_HASH_LENGTH);
}

static bool serve(int host_pidfd)
{
    static struct kubernetes_environment environment = {.guests.provider = &kubernetes_provider};
    environment.client = api_client_new();
    if (!environment.client)
        return false;
    take_guest_digest(environment.guest_digest);
    environment.guests.guest_digest = environment.guest_digest;
    bool has_owner = owner_self(&environment.owner);
    if (has_owner)
        pod_owner_name(&environment.owner, environment.owner_name);
    bool served = has_owner && supervisor_serve(&environment.guests, host_pidfd);
    cluster_clear_all(&environment);
    api_client_free(environment.client);
    return served;
}

int main(void)
{
    CLEANUP_CLOSE int host = backend_enter();
    return host < 0 || !serve(host);
}
