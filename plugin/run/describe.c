/* SPDX-License-Identifier: Apache-2.0 */
/* Run descriptions and their parts. Runs in the gateway, on the thread inside tool_invoke(),
 * tool_prepare() or tool_status(). */
#include "run/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "protocol/layers.h"
#include "vocabulary/environment.h"

#define ENVIRONMENTS_TEXT 4096 /* bytes, for a program and whoever reads its output */

/* Shown in the view only to runs that keep the host's network. */
static const char *const network_paths[] = {"/etc/resolv.conf", "/etc/ssl",
                                            "/usr/share/ca-certificates", NULL};

static bool copy_options(const struct wire_bytes *options, struct wire_bytes *ret)
{
    if (options->length == 0)
        return true;
    ret->bytes = (unsigned char *)copy_bytes((const char *)options->bytes, options->length);
    ret->length = ret->bytes ? options->length : 0;
    return ret->bytes != NULL;
}

/* For what answers in the place of pip and npm: a line each, as far as they fit. */
static bool name_environments(const struct policy *policy, char ***list)
{
    CLEANUP(cleanup_string_list) char **lines = policy_name_environments(policy);
    char text[ENVIRONMENTS_TEXT] = "";
    size_t length = 0;
    for (char **line = lines; line && *line && length < sizeof(text); line++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s\n", *line);
    return lines &&
           (length == 0 || environment_set(list, "CODE_EXECUTE_PACKAGES", text, strlen(text)));
}

/* The lists that do not depend on the request; argv[0] only, the rest of argv is the caller's. */
bool describe_common(const struct policy *policy, enum sandbox_mode mode,
                     const struct policy_language *language, bool network,
                     struct run_description *ret)
{
    const struct sandbox_mode_row *row = policy_mode_row(policy, mode);
    bool sandboxed = row->isolation != RUN_ISOLATION_NONE;
    ret->isolation = row->isolation;
    ret->network = network;
    ret->required = sandboxed ? policy->required_layers | row->mandatory_layers : 0;
    if (network)
        ret->required &= ~LAYER_BIT(LAYER_NETWORK_NAMESPACE);
    /* Runs with endpoints never do without it, and others have none. */
    ret->required &= ~LAYER_BIT(LAYER_ENDPOINT_BROKER);
    ret->installer_commands = sandboxed && !network;
    ret->pool_size = policy->pools[mode].ready;
    ret->pool_most = policy->pools[mode].most;
    ret->pool_memory = policy->pools[mode].memory_bytes;
    ret->pool_idle_ms = policy->pools[mode].idle_ms;
    ret->outer_uid_base = policy->outer_uid_base;
    ret->outer_uid_count = policy->outer_uid_count;
    bool filled =
        copy_options(&policy->options[mode], &ret->options) &&
        string_list_append_all(&ret->runtime_path, (const char *const *)policy->runtime_path) &&
        string_list_append_all(&ret->read_only_paths, (const char *const *)policy->read_only) &&
        environment_set_all(&ret->environment, policy->environment);
    if (filled && sandboxed && !network)
        filled = environment_set_all(&ret->environment, policy->environment_without_network);
    if (filled && sandboxed && !network)
        filled = name_environments(policy, &ret->environment);
    if (filled && language)
        filled = string_list_append_all(&ret->read_only_paths,
                                        (const char *const *)language->read_only) &&
                 environment_set_all(&ret->environment, language->environment);
    if (filled && network)
        filled = string_list_append_all(&ret->read_only_paths, network_paths);
    return filled;
}

void describe_endpoints(struct run_description *ret)
{
    ret->endpoints = 1;
    ret->installer_commands = 0;
    ret->required |= LAYER_BIT(LAYER_ENDPOINT_BROKER);
}

bool describe_text(const char *text, char **ret)
{
    *ret = strdup(text ? text : "");
    return *ret != NULL;
}

bool describe_image(const struct policy *policy, enum sandbox_mode mode, const char *name,
                    struct run_image *ret)
{
    if (!sandbox_mode_row(mode)->has_images)
        return true;
    ret->require_digest = policy->images[mode].require_digest;
    ret->pull = RUN_PULL_NEVER; /* only trials fetch: see readiness.c */
    return describe_text(name, &ret->name);
}

uint64_t *describe_limit(struct run_limits *of, const struct policy_limit_row *row)
{
    return (void *)((char *)of + row->run_offset);
}

void describe_limits(const struct policy_limits *limits, struct run_limits *ret)
{
    size_t count;
    const struct policy_limit_row *rows = policy_limit_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].place == POLICY_LIMIT_OF_RUN)
            *describe_limit(ret, &rows[i]) = policy_limit_at(limits, &rows[i])->default_value;
}

/* The language's command, or the one that its image wants. */
char *const *describe_command_of(const struct policy *policy, enum sandbox_mode mode,
                                 const struct policy_language *language)
{
    const struct policy_image *image = policy_find_image(policy, mode, language->name);
    return image && image->argv ? image->argv : language->argv;
}

/* file: the program that the command runs. */
bool describe_command(struct run_description *description, char *const *command, const char *file)
{
    for (size_t i = 0; command[i]; i++) {
        bool is_program = strcmp(command[i], "{file}") == 0;
        if (!string_list_append(&description->argv, is_program ? file : command[i]))
            return false;
    }
    return true;
}

bool describe_file(const char *path, const void *content, size_t length, struct run_file *ret)
{
    ret->path = strdup(path);
    ret->content = malloc(length + 1);
    if (!ret->path || !ret->content)
        return false;
    memcpy(ret->content, content, length);
    ret->length = length;
    return true;
}

bool describe_add_file(struct run_description *description, const char *path, const void *content,
                       size_t length)
{
    /* First: a half-made one is the description's to free. */
    return describe_file(path, content, length, &description->files[description->file_count++]);
}

bool describe_trial(const struct trial_subject *subject, struct run_description *ret)
{
    const struct policy *policy = subject->policy;
    const struct policy_language *language = subject->language;
    CLEANUP(run_description_clear)
    struct run_description description = {.purpose = RUN_PURPOSE_TRIAL};
    memset(description.run_id, '0', RUN_ID_LENGTH);
    describe_limits(language ? &language->limits : &policy->limits, &description.limits);
    const char *program = language ? describe_command_of(policy, subject->mode, language)[0] : "sh";
    if (!describe_common(policy, subject->mode, language, subject->network, &description) ||
        !describe_image(policy, subject->mode, subject->image, &description.image) ||
        !describe_text(subject->workspace, &description.workspace) ||
        !string_list_append(&description.argv, program))
        return false;
    if (subject->endpoints)
        describe_endpoints(&description);
    description.image.pull = subject->pull;
    description.workspace_id = subject->workspace_id;
    *ret = description;
    description = (struct run_description){0};
    return true;
}

bool describe_preparation(const struct trial_subject *subject, const char *word,
                          struct run_description *ret)
{
    const struct policy_language *language = subject->language;
    CLEANUP_FREE char *code = strdup(word ? word : "");
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (!code || !describe_trial(subject, &description))
        return false;
    const struct request request = {.code = code, .code_length = strlen(code)};
    string_list_free(TAKE_POINTER(description.argv));
    description.purpose = RUN_PURPOSE_PREPARE;
    if (!describe_command(&description,
                          describe_command_of(subject->policy, subject->mode, language),
                          language->file) ||
        !preparation_fill(&language->preparation, &request, language->file, &description))
        return false;
    if (description.pool_size > 0) /* none was asked for more yet */
        description.pool_size = description.pool_most = 1;
    *ret = description;
    description = (struct run_description){0};
    return true;
}

bool describe_sweep(const struct policy *policy, enum sandbox_mode mode,
                    struct run_description *ret)
{
    const struct trial_subject subject = {.policy = policy, .mode = mode};
    if (!describe_trial(&subject, ret))
        return false;
    ret->purpose = RUN_PURPOSE_SWEEP;
    return true;
}
