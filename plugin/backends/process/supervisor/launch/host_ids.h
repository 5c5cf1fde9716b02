/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users that a sandbox may have on the host: one of a range where the supervisor may map others
 * and has the range in its own user namespace, else the supervisor's own user, as for an ordinary
 * one. Root of a container without privileges is such a case. Runs in the supervisor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_EXTENTS_LIMIT 340 /* of one map: user_namespaces(7) */

struct id_map {
    size_t count;
    struct id_extent {
        uint64_t first; /* in the namespace of the supervisor */
        uint64_t count;
    } extents[ID_EXTENTS_LIMIT];
};

struct host_ids {
    bool known;          /* false: it could not be found out this time */
    bool may_map_others; /* CAP_SETUID and CAP_SETGID */
    struct id_map users;
    struct id_map groups;
};

/* Reads the maps and rights of this process. */
void host_ids_find(struct host_ids *ret);
/* May all users and groups of [first, first + count) be given to sandboxes? */
bool host_ids_have(const struct host_ids *ids, uint32_t first, uint32_t count);

/* Adds a line of a map; false where it is none. Pure. */
bool id_map_add(struct id_map *map, const char *line);
/* Is [first, first + count) wholly inside, be it of several extents? first is not 0. Pure. */
bool id_map_covers(const struct id_map *map, uint32_t first, uint32_t count);
