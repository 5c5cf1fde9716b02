/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read-back: {"network": ..., "runtime": ..., "edits": [[PARENT, NAME, VALUE], ...]}. The right
 * container, described as engines do, with members set anew (PARENT: "", "Config" or "HostConfig";
 * without VALUE: taken away). It must pass exactly when no edit has changed anything that counts.
 * An input that is an array is taken for the description itself.
 */
#include <jansson.h>

#include "backends/docker/container/container_config.h"
#include "base/cleanup.h"
#include "fuzz.h"

#define ID "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct owner owner = {.boot = "b", .space = "pid:[1]", .pid = 7, .start = 9};

static json_t *ask(const json_t *input)
{
    static const char *const seccomp[2] = {"{}", "{}"};
    const char *runtime = json_string_value(json_object_get(input, "runtime"));
    const struct run_description description = {
        .run_id = "0",
        .limits = {.memory_bytes = 64 << 20,
                   .processes = 16,
                   .open_files = 32,
                   .scratch_bytes = 1 << 20},
        .network = json_is_true(json_object_get(input, "network")),
    };
    return container_config_for_run(&description, runtime ? runtime : "", ID, &owner, seccomp,
                                    1000);
}

/* As an engine describes what was asked for. */
static json_t *make(const json_t *asked)
{
    json_t *host = json_deep_copy(json_object_get(asked, "HostConfig"));
    json_t *config = json_deep_copy(asked);
    (void)json_object_del(config, "HostConfig");
    (void)json_object_set_new(config, "Env", json_pack("[s]", "PATH=/bin"));
    (void)json_object_set_new(host, "ShmSize", json_integer(67108864));
    (void)json_object_set_new(host, "Binds", json_null());
    if (!json_object_get(host, "Runtime"))
        (void)json_object_set_new(host, "Runtime", json_string("runc"));
    return json_pack("{s:s, s:[], s:n, s:o, s:o, s:s}", "Image", ID, "Mounts", "ExecIDs", "Config",
                     config, "HostConfig", host, "Name", "/code-execute-0");
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Whether a member's change must be seen. */
static bool counts(const json_t *asked, const char *parent, const char *name)
{
    static const char *const top[] = {"Image", "ExecIDs", "Mounts", "Config", "HostConfig"};
    static const char *const config[] = {"User",           "Hostname",  "Domainname", "WorkingDir",
                                         "Entrypoint",     "Cmd",       "Tty",        "Healthcheck",
                                         "OpenStdin",      "StdinOnce", "Volumes",    "Labels",
                                         "NetworkDisabled"};
    static const char *const engines[] = {"Runtime", "ShmSize", "ConsoleSize", "Isolation",
                                          "CgroupParent"};
    const json_t *host = json_object_get(asked, "HostConfig");
    if (parent[0] == '\0')
        return is_one_of(name, top, COUNT_OF(top));
    if (strcmp(parent, "Config") == 0)
        return is_one_of(name, config, COUNT_OF(config));
    return json_object_get(host, name) || !is_one_of(name, engines, COUNT_OF(engines));
}

/* Nothing, in one of the ways that engines write it. */
static bool is_nothing(const json_t *value)
{
    if (json_is_string(value))
        return json_string_length(value) == 0;
    if (json_is_number(value))
        return json_number_value(value) == 0.0;
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static json_t *parent_of(json_t *made, const char *parent)
{
    return parent[0] ? json_object_get(made, parent) : made;
}

/* Edits of parts of parts (labels, mounts) are the unit tests' business: an edit here is of a whole
 * member. false: the edit is none. */
static bool apply(const json_t *edit, json_t *made)
{
    const char *parent = json_string_value(json_array_get(edit, 0));
    const char *name = json_string_value(json_array_get(edit, 1));
    json_t *value = json_array_get(edit, 2);
    if (!parent || !name ||
        (parent[0] && strcmp(parent, "Config") != 0 && strcmp(parent, "HostConfig") != 0))
        return false;
    json_t *object = parent_of(made, parent);
    if (value)
        (void)json_object_set_new(object, name, json_deep_copy(value));
    else
        (void)json_object_del(object, name);
    return true;
}

/* The times and retries beside "NONE" are the image's. */
static bool is_no_check(const json_t *now, const json_t *was)
{
    const char *key;
    json_t *value;
    if (!json_equal(json_object_get(now, "Test"), json_object_get(was, "Test")))
        return false;
    json_object_foreach((json_t *)(uintptr_t)now, key, value)
    {
        if (strcmp(key, "Test") != 0 && !json_is_integer(value))
            return false;
    }
    return true;
}

/* Whether what a member is now stands for what it was. */
static bool stands_for(const char *parent, const char *name, const json_t *now, const json_t *was)
{
    bool same = json_equal(now, was) || (is_nothing(now) && is_nothing(was));
    bool is_config = strcmp(parent, "Config") == 0;
    if (!same && is_config && strcmp(name, "Healthcheck") == 0)
        return is_no_check(now, was);
    if (same || !is_config || strcmp(name, "Labels") != 0)
        return same;
    /* More labels than ours are the image's. */
    const char *key;
    json_t *label;
    json_object_foreach((json_t *)(uintptr_t)was, key, label)
    {
        if (!json_equal(label, json_object_get(now, key)))
            return false;
    }
    return true;
}

static bool all_stand(const json_t *edits, const json_t *asked, json_t *made, json_t *right)
{
    size_t i;
    const json_t *edit;
    json_array_foreach(edits, i, edit)
    {
        const char *parent = json_string_value(json_array_get(edit, 0));
        const char *name = json_string_value(json_array_get(edit, 1));
        if (!parent || !name || !counts(asked, parent, name))
            continue;
        if (!stands_for(parent, name, json_object_get(parent_of(made, parent), name),
                        json_object_get(parent_of(right, parent), name)))
            return false;
    }
    return true;
}

/* Members of these, edited one by one, are told from the whole: not for the model above. */
static bool is_whole(const json_t *edits)
{
    static const char *const wholes[] = {"Config", "HostConfig"};
    size_t i;
    const json_t *edit;
    json_array_foreach(edits, i, edit)
    {
        const char *parent = json_string_value(json_array_get(edit, 0));
        const char *name = json_string_value(json_array_get(edit, 1));
        if (!parent || !name || (parent[0] == '\0' && is_one_of(name, wholes, COUNT_OF(wholes))))
            return false;
    }
    return true;
}

static void try_edits(const json_t *input, const json_t *asked)
{
    const json_t *edits = json_object_get(input, "edits");
    char field[100] = "";
    size_t i;
    const json_t *edit;
    json_auto_t *right = make(asked);
    json_auto_t *made = json_deep_copy(right);
    MUST(container_attest(asked, right, field, sizeof(field)));
    json_array_foreach(edits, i, edit)
    {
        if (!apply(edit, made))
            return;
    }
    bool passed = container_attest(asked, made, field, sizeof(field));
    MUST(passed == (field[0] == '\0'));
    MUST(strnlen(field, sizeof(field)) < sizeof(field));
    if (is_whole(edits))
        MUST(passed == all_stand(edits, asked, made, right));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_exact(data, size);
    json_auto_t *input = json_loadb((const char *)exact, size, 0, NULL);
    free(exact);
    json_auto_t *asked = ask(input);
    char field[100];
    MUST(asked != NULL);
    if (json_is_array(input))
        MUST(!container_attest(asked, json_array_get(input, 0), field, sizeof(field)));
    else
        try_edits(input, asked);
    return 0;
}
