/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the entering of a sandbox's control groups, which the supervisor has made (cgroup.h). Runs
 * in pid 1 of a sandbox, as the user that made them and before there is anybody else.
 */
#include <errno.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

static bool enter_group(int entrance)
{
    ssize_t written = write(entrance, "0", 1); /* the writer: cgroups(7) */
    close_fd(entrance);
    return written == 1;
}

/* A group that cannot be entered is missing, and the report says which controller. */
int enter_control_groups(struct sandbox *sandbox)
{
    const struct sandbox_go *go = &sandbox->go;
    bool entered[SANDBOX_GROUPS] = {false};
    for (uint32_t i = 0; i < go->group_count; i++)
        entered[i] = enter_group(sandbox->groups[i]);
    bool memory = go->has_memory && entered[0];
    bool pids = go->has_pids && entered[go->group_count - 1];
    sandbox->isolation.cgroup_has_memory = memory;
    sandbox->isolation.cgroup_has_pids = pids;
    if (memory && pids)
        return 0;
    errno = ENOENT;
    return -1;
}
