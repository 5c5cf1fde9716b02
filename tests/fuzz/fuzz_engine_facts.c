/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine says of itself and of an image: {"version": ..., "info": ..., "image": ..., and
 * our own side "name", "id", "runtime"}. Whoever passes has what it takes, whoever does not is told
 * why, and every text that goes on to the plugin is text.
 */
#include <jansson.h>

#include "backends/docker/engine/engine_facts.h"
#include "fuzz.h"

/* Fit to be put into JSON, which is what becomes of it. */
static void must_be_text(const char *text, size_t size)
{
    MUST(strnlen(text, size) < size);
    json_auto_t *string = json_string(text);
    MUST(string != NULL);
}

static void must_be_told(bool passed, const struct engine_fault *fault)
{
    if (passed)
        return;
    MUST(fault->problem > ENGINE_PROBLEM_NONE && fault->problem < ENGINE_PROBLEM_COUNT);
    MUST(fault->message[0] != '\0');
    MUST(strnlen(fault->message, sizeof(fault->message)) < sizeof(fault->message));
}

static const char *text_of(const json_t *input, const char *name)
{
    const char *text = json_string_value(json_object_get(input, name));
    return text ? text : "";
}

static void try_engine(const json_t *input)
{
    struct engine_facts facts = {.api = 0};
    struct engine_fault fault = {.problem = ENGINE_PROBLEM_NONE};
    const json_t *info = json_object_get(input, "info");
    bool known = engine_facts_of_version(json_object_get(input, "version"), &facts, &fault);
    must_be_told(known, &fault);
    MUST(!known || facts.api >= ENGINE_API_MINIMUM);
    known = engine_facts_of_info(info, &facts, &fault);
    must_be_told(known, &fault);
    if (known) {
        MUST(json_is_true(json_object_get(info, "MemoryLimit")));
        MUST(json_is_true(json_object_get(info, "PidsLimit")));
        MUST(facts.cgroup_version == 1 || facts.cgroup_version == 2);
        MUST(!facts.rootless || facts.user_namespace);
    }
    char runtime[64];
    (void)snprintf(runtime, sizeof(runtime), "%s", text_of(input, "runtime"));
    must_be_told(engine_facts_have_runtime(&facts, runtime, &fault), &fault);
    char version[48];
    engine_facts_runtime_version(&facts, runtime, version, sizeof(version));
    must_be_text(version, sizeof(version));
    must_be_text(facts.name, sizeof(facts.name));
    must_be_text(facts.version, sizeof(facts.version));
    must_be_text(facts.runtime, sizeof(facts.runtime));
    engine_facts_clear(&facts);
}

/* Does one end with the other's 64 digits? */
static bool same_digits(const char *text, const char *id)
{
    size_t length = strlen(text);
    return length >= 64 && strcmp(text + length - 64, id + strlen(id) - 64) == 0;
}

static bool is_vouched_for(const json_t *image, const char *name, const char *id)
{
    size_t i;
    const json_t *digest;
    bool found = same_digits(name, id);
    json_array_foreach(json_object_get(image, "RepoDigests"), i, digest)
    {
        const char *text = json_string_value(digest);
        found = found || (text && strlen(text) >= 64 && same_digits(name, text));
    }
    return found;
}

static void try_image(const json_t *input)
{
    struct engine_fault fault = {.problem = ENGINE_PROBLEM_NONE};
    const json_t *image = json_object_get(input, "image");
    const char *id = NULL;
    const struct run_image wanted = {
        .name = (char *)(uintptr_t)text_of(input, "name"),
        .id = (char *)(uintptr_t)text_of(input, "id"),
    };
    /* As in run.c: no other name gets as far as an image. */
    if (!engine_image_name_is_good(wanted.name))
        return;
    bool taken = engine_facts_of_image(image, &wanted, &id, &fault);
    must_be_told(taken, &fault);
    if (!taken)
        return;
    size_t prefix = strncmp(id, "sha256:", 7) == 0 ? 7 : 0;
    MUST(engine_id_is_good(id + prefix));
    MUST(!engine_image_is_pinned(wanted.name) || is_vouched_for(image, wanted.name, id));
    MUST(wanted.id[0] == '\0' || same_digits(wanted.id, id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_exact(data, size);
    json_auto_t *input = json_loadb((const char *)exact, size, 0, NULL);
    free(exact);
    try_engine(input);
    try_image(input);
    return 0;
}
