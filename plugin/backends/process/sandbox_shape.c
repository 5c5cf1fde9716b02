/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the comparison and the copies of shapes: see sandbox_shape.h. */
#include "sandbox_shape.h"

#include <stdlib.h>
#include <string.h>

#include "../../cleanup.h"

struct sandbox_shape sandbox_shape_of(const struct run_description *description)
{
    return (struct sandbox_shape){
        .outer_uid_base = description->outer_uid_base,
        .outer_uid_count = description->outer_uid_count,
        .network = description->network,
        .scratch_bytes = description->limits.scratch_bytes,
        .scratch_inodes = description->limits.scratch_inodes,
        .read_only_paths = description->read_only_paths,
        .workspace = description->workspace,
    };
}

static bool same_strings(char *const *one, char *const *other)
{
    for (; *one && *other; one++, other++)
        if (strcmp(*one, *other) != 0)
            return false;
    return !*one && !*other;
}

bool sandbox_shape_equal(const struct sandbox_shape *one, const struct sandbox_shape *other)
{
    return one->outer_uid_base == other->outer_uid_base &&
           one->outer_uid_count == other->outer_uid_count && one->network == other->network &&
           one->scratch_bytes == other->scratch_bytes &&
           one->scratch_inodes == other->scratch_inodes &&
           strcmp(one->workspace, other->workspace) == 0 &&
           same_strings(one->read_only_paths, other->read_only_paths);
}

static char **copy_strings(char *const *strings)
{
    size_t count = 0;
    while (strings[count])
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (copy[i])
            continue;
        while (i-- > 0)
            free(copy[i]);
        free(TAKE_POINTER(copy));
    }
    return copy;
}

bool sandbox_shape_copy(const struct sandbox_shape *shape, struct sandbox_shape *ret)
{
    struct sandbox_shape copy = *shape;
    copy.read_only_paths = copy_strings(shape->read_only_paths);
    copy.workspace = strdup(shape->workspace);
    if (!copy.read_only_paths || !copy.workspace) {
        sandbox_shape_clear(&copy);
        return false;
    }
    *ret = copy;
    return true;
}

void sandbox_shape_clear(struct sandbox_shape *shape)
{
    for (char **path = shape->read_only_paths; path && *path; path++)
        free(*path);
    free(shape->read_only_paths);
    free(shape->workspace);
    *shape = (struct sandbox_shape){.workspace = NULL};
}
