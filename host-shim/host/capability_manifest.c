/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a manifest's lists of capabilities. Pure code, any thread. */
#include "host/capability_manifest.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/json.h"

static bool add_all(json_t *list, const json_t *names)
{
    size_t index = 0;
    json_t *name = NULL;
    json_array_foreach(names, index, name)
    {
        const char *text = json_c_string(name);
        if (text && !json_list_has(list, text) && json_array_append(list, name) != 0)
            return false;
    }
    return true;
}

struct capability_manifest capability_manifest_read(const char *manifest_json)
{
    json_auto_t *manifest =
        manifest_json ? json_loads(manifest_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
    json_auto_t *names = json_array();
    json_auto_t *grants = json_array();
    size_t index = 0;
    const json_t *tool = NULL;
    json_array_foreach(json_object_get(manifest, "tools"), index, tool)
    {
        const json_t *capabilities = json_object_get(tool, "capabilities");
        if (!add_all(names, json_object_get(capabilities, "required")) ||
            !add_all(names, json_object_get(capabilities, "optional")) ||
            !add_all(grants, json_object_get(capabilities, "default_grant")))
            return (struct capability_manifest){NULL, NULL};
    }
    return (struct capability_manifest){TAKE_POINTER(names), TAKE_POINTER(grants)};
}

void capability_manifest_clear(struct capability_manifest *manifest)
{
    json_decref(manifest->names);
    json_decref(manifest->default_grants);
    *manifest = (struct capability_manifest){NULL, NULL};
}
