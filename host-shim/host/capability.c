/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the grants of the command line, and a manifest's lists. Pure code, any thread. */
#include "host/capability.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

static bool begins_with(const char *text, const char *beginning, size_t length)
{
    return strncmp(text, beginning, length) == 0;
}

enum capability_verdict capability_judge(const char *const *grants, size_t count, const char *asked)
{
    size_t name_length = strcspn(asked, "=");
    bool whole = asked[name_length] == '\0';
    if (strcmp(asked + name_length, "=!") ==
        0) /* the provider tests whether the host grants anything */
        return CAPABILITY_PROBE;
    bool granted = false;
    for (size_t i = 0; i < count; i++) {
        bool denial = grants[i][0] == '!';
        const char *grant = grants[i] + (denial ? 1 : 0);
        bool same = strcmp(grant, asked) == 0;
        bool of_name = begins_with(grant, asked, name_length);
        bool covers = of_name && grant[name_length] == '\0';
        bool part = whole && of_name && grant[name_length] == '=';
        if (denial && (same || covers || part))
            return CAPABILITY_DENIED;
        if (!denial && (same || covers))
            granted = true;
    }
    return granted ? CAPABILITY_GRANTED : CAPABILITY_NOT_GRANTED;
}

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
