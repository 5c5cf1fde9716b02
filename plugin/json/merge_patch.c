/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Merge Patch. Pure code; runs in the gateway on the calling thread.
 */
#include "json/merge_patch.h"

/* The object to patch below target: the present one, or a new empty one in its place. */
static json_t *object_at(json_t *target, const char *name, size_t length)
{
    json_t *present = json_object_getn(target, name, length);
    if (json_is_object(present))
        return present;
    if (json_object_setn_new(target, name, length, json_object()) < 0)
        return NULL;
    return json_object_getn(target, name, length);
}

static bool patch_member(json_t *target, const char *name, size_t length, json_t *value)
{
    if (json_is_null(value)) {
        (void)json_object_deln(target, name, length); /* not there: nothing to remove */
        return true;
    }
    if (json_is_object(value)) {
        json_t *below = object_at(target, name, length);
        return below && merge_patch(below, value);
    }
    /* Shared, not copied: the merged value is only read afterwards. */
    return json_object_setn(target, name, length, value) == 0;
}

bool merge_patch(json_t *target, json_t *patch)
{
    const char *name;
    size_t length;
    json_t *value;

    json_object_keylen_foreach(patch, name, length, value)
    {
        if (!patch_member(target, name, length, value))
            return false;
    }
    return true;
}
