/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the ids that the supervisor's own user namespace lets it map: see host_ids.h. */
#include "backends/process/supervisor/launch/host_ids.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

bool id_map_add(struct id_map *map, const char *line)
{
    uint64_t first;
    uint64_t outside;
    uint64_t count;
    if (map->count == ID_EXTENTS_LIMIT ||
        sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &first, &outside, &count) != 3)
        return false;
    map->extents[map->count++] = (struct id_extent){.first = first, .count = count};
    return true;
}

/* The end of the extent that holds the id; 0 where none does. */
static uint64_t extent_end(const struct id_map *map, uint64_t id)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct id_extent *extent = &map->extents[i];
        if (id >= extent->first && id - extent->first < extent->count)
            return extent->first + extent->count;
    }
    return 0;
}

bool id_map_covers(const struct id_map *map, uint32_t first, uint32_t count)
{
    uint64_t next = first;
    while (next && next < (uint64_t)first + count)
        next = extent_end(map, next);
    return next != 0;
}

static bool read_map(const char *path, struct id_map *ret)
{
    char line[128];
    CLEANUP_FILE FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file) && id_map_add(ret, line))
        ;
    return file && !ferror(file) && ret->count > 0;
}

static bool has_capability(unsigned int capability, bool *ret)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    *ret = data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
    return true;
}

void host_ids_find(struct host_ids *ret)
{
    bool users = false;
    bool groups = false;
    *ret = (struct host_ids){.known = false};
    ret->known = has_capability(CAP_SETUID, &users) && has_capability(CAP_SETGID, &groups) &&
                 read_map("/proc/self/uid_map", &ret->users) &&
                 read_map("/proc/self/gid_map", &ret->groups);
    ret->may_map_others = users && groups;
}

bool host_ids_have(const struct host_ids *ids, uint32_t first, uint32_t count)
{
    return ids->may_map_others && id_map_covers(&ids->users, first, count) &&
           id_map_covers(&ids->groups, first, count);
}
