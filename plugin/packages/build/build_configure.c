/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a build: the operator's own file, with what a build needs in place of what it says
 * of calls. Pure code; runs on the thread inside tool_prepare(). */
#include "packages/build/environment_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "vocabulary/language.h"
#include "json/json_input.h"

#define BUILD_MS      1800000               /* half an hour */
#define BASE_BYTES    (UINT64_C(512) << 20) /* the package manager's own memory */
#define MEMORY_MOST   (UINT64_C(1) << 46)   /* of a policy's memory_total_bytes */
#define PROCESSES     256
#define OUTPUT_BYTES  262144
#define ARCHIVE_LIMIT (UINT64_C(1) << 30) /* bytes of one file that a run leaves */

static json_t *limit(uint64_t value)
{
    return json_pack("{s:I, s:I}", "default", (json_int_t)value, "max", (json_int_t)value);
}

/* The tree and its archive lie beside each other, in memory. */
static json_t *limits_of(const struct policy_environment *environment)
{
    uint64_t scratch = 2 * environment->bytes + BASE_BYTES;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "wall_ms", limit(BUILD_MS), "cpu_ms",
        limit(BUILD_MS), "memory_bytes", limit(scratch + BASE_BYTES), "processes", limit(PROCESSES),
        "file_bytes", limit(ARCHIVE_LIMIT), "scratch_bytes", limit(scratch), "scratch_inodes",
        limit(2 * environment->inodes + 65536), "stdout_bytes", limit(OUTPUT_BYTES), "stderr_bytes",
        limit(OUTPUT_BYTES), "output_total_bytes", limit(UINT64_C(64) << 20));
}

/* A build fetches whole packages. */
static json_t *endpoints_of(const struct policy_environment *environment)
{
    json_auto_t *endpoints = json_object();
    for (char **name = environment->endpoints; *name; name++)
        if (json_object_set_new(endpoints, *name,
                                json_pack("{s:s, s:{s:i, s:I, s:i}}", "approval", "never", "limits",
                                          "requests", 100000, "response_bytes",
                                          (json_int_t)environment->bytes, "timeout_ms", 600000)) !=
            0)
            return NULL;
    return json_incref(endpoints);
}

/* pip fails where one of them is there and cannot be read. */
static const char *const read_by_pip[] = {"/etc/debian_version", "/etc/mime.types", NULL};

static bool append_all(json_t *list, const char *const *texts)
{
    for (; texts && *texts; texts++)
        if (json_array_append_new(list, json_string(*texts)) != 0)
            return false;
    return true;
}

/* Without options that would have the program begin by code of ours. It sees the directory of
 * packages where that is, which each mode can show. */
static json_t *language_of(const struct policy_environment *environment,
                           const struct policy_language *language)
{
    bool is_python = strcmp(language->name, "python") == 0;
    const char *const wheelhouse[] = {environment->wheelhouse, NULL};
    json_auto_t *argv = json_pack("[s]", language->argv[0]);
    json_auto_t *read_only = json_array();
    if ((is_python && json_array_append_new(argv, json_string("-I")) != 0) ||
        json_array_append_new(argv, json_string("{file}")) != 0 ||
        !append_all(read_only, (const char *const *)language->read_only) ||
        !append_all(read_only, read_by_pip) || !append_all(read_only, wheelhouse))
        return NULL;
    return json_pack("{s:{s:O, s:O, s:n}}", language->name, "argv", argv, "read_only", read_only,
                     "limits");
}

/* What the gateway's runs may have, its sessions' too, keeps no build waiting. */
static uint64_t memory_total(const struct policy *policy,
                             const struct policy_environment *environment)
{
    uint64_t total = policy->memory_total_bytes + 2 * (environment->bytes + BASE_BYTES);
    return total < MEMORY_MOST ? total : MEMORY_MOST;
}

static json_t *changes_of(const struct policy *policy, const struct policy_environment *environment,
                          const struct policy_language *language)
{
    return json_pack(
        "{s:{s:s, s:[]}, s:[s, s, s, s, s], s:{s:{s:n}, s:n, s:n}, s:o, s:o, s:o, s:I,"
        " s:{s:{s:i, s:I, s:I, s:i}}, s:{s:{s:i}, s:{s:i}}, s:{}, s:n, s:{s:i}}",
        "approval", "default", "allow", "rules", "capabilities", "sandbox.exec",
        "sandbox.exec.files", "sandbox.exec.endpoints", "sandbox.exec.limits.extended",
        "sandbox.exec.mode.unprivileged", "content_checks", "languages", language->name, "host",
        "command", "endpoints", endpoints_of(environment), "limits", limits_of(environment),
        "languages", language_of(environment, language), "memory_total_bytes",
        (json_int_t)memory_total(policy, environment), "files", "out", "max_files", 4, "file_bytes",
        (json_int_t)ARCHIVE_LIMIT, "total_bytes", (json_int_t)ARCHIVE_LIMIT, "inline_bytes", 0,
        "pools", "process", "ready", 0, "docker", "ready", 0, "environment_without_network",
        "only_languages", "sessions", "max_total", 0);
}

static struct policy *load(const struct policy *policy, json_t *changes, bool with_packages,
                           struct error *error)
{
    json_auto_t *file = policy->patch ? json_deep_copy(policy->patch) : json_object();
    if (!file || !merge_patch(file, changes)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the policy of a build");
        return NULL;
    }
    if (!with_packages)
        (void)json_object_del(file, "environments");
    CLEANUP_FREE char *text = json_dumps(file, JSON_COMPACT);
    if (!text) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the policy of a build");
        return NULL;
    }
    return policy_load_text("of a build", text, strlen(text), error);
}

bool build_configure(const struct configuration *configuration,
                     const struct policy_environment *environment, bool with_packages,
                     struct configuration *ret, struct error *error)
{
    const char *name = environment_language_find(environment->language)->language;
    const struct policy_language *language = policy_find_language(configuration->policy, name);
    if (!language) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED, "the policy does not offer the language %s",
                  name);
        return false;
    }
    json_auto_t *changes = changes_of(configuration->policy, environment, language);
    if (!changes) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the policy of a build");
        return false;
    }
    struct policy *policy = load(configuration->policy, changes, with_packages, error);
    if (!policy)
        return false;
    *ret = (struct configuration){.policy = policy, .mode = configuration->mode};
    return true;
}
