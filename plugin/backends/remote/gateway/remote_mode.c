/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of mode remote: runs on workers, other machines with a backend of process or docker
 * mode. And the policy's section "remote": which workers, or where they are found, the mode that
 * they have, and the files of TLS, none of which is opened here. Runs in the gateway, on the thread
 * inside tool_invoke(), tool_prepare() or tool_status().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/remote/messages/remote_options.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "call/call.h"
#include "policy/policy_parse.h"
#include "vocabulary/sandbox_mode.h"
#include "json/json_text.h"

struct worker {
    char *name;
    char *address;
};

struct discovery {
    char *dns;
    char *name;
    char *file;
};

struct section {
    struct worker *workers;
    size_t worker_count;
    struct discovery discovery;
    struct {
        char *authority;
        char *certificate;
        char *key;
    } tls;
    unsigned mode;
};

static bool check_name(const struct json_place *place, const char *name)
{
    return remote_name_is_valid(name) ||
           json_place_refuse(place, "must be a DNS name in lower case, as the worker's certificate "
                                    "has it, without \"*\"");
}

static bool check_address(const struct json_place *place, const char *text)
{
    struct remote_address address;
    return remote_address_parse(text, &address) ||
           json_place_refuse(place, "must be HOST:PORT or [IPV6]:PORT");
}

#define WORKER(member)  .offset = offsetof(struct worker, member)
#define FOUND(member)   .offset = offsetof(struct discovery, member)
#define SECTION(member) .offset = offsetof(struct section, member)
#define TLS_PATH(member)                                                    \
    {                                                                       \
#member, &member_text, SECTION(tls.member), 1, POLICY_STRING_LIMIT, \
            .check = json_check_absolute_path                               \
    }

static const struct json_member worker_members[] = {
    {"name", &member_text, WORKER(name), 1, REMOTE_DNS_NAME_LIMIT, .check = check_name},
    {"address", &member_text, WORKER(address), 1, REMOTE_ADDRESS_LIMIT, .check = check_address},
    {0},
};

static const struct json_items worker_items = {
    .size = sizeof(struct worker),
    .count = offsetof(struct section, worker_count),
    .members = worker_members,
};

static const struct json_member discovery_members[] = {
    {"dns", &member_text, FOUND(dns), 1, REMOTE_ADDRESS_LIMIT, .optional = true,
     .check = check_address},
    {"name", &member_text, FOUND(name), 1, REMOTE_DNS_NAME_LIMIT, .optional = true,
     .check = check_name},
    {"file", &member_text, FOUND(file), 1, POLICY_STRING_LIMIT, .optional = true,
     .check = json_check_absolute_path},
    {0},
};

static const struct json_member tls_members[] = {
    TLS_PATH(authority),
    TLS_PATH(certificate),
    TLS_PATH(key),
    {0},
};

/* A run has the layers of the mode that the policy names. A worker of another mode is not used, so
 * isolation is never weaker than the policy says. */
enum worker_mode { WORKERS_PROCESS, WORKERS_UNPRIVILEGED, WORKERS_DOCKER };
static const char *const worker_modes[] = {"process", "unprivileged", "docker", NULL};
static const struct sandbox_mode_row unprivileged_workers;
static const struct sandbox_mode_row docker_workers;
static const struct sandbox_mode_row *const worker_rows[] = {
    [WORKERS_PROCESS] = &remote_mode,
    [WORKERS_UNPRIVILEGED] = &unprivileged_workers,
    [WORKERS_DOCKER] = &docker_workers,
};

static const struct json_member section_members[] = {
    {"workers", &member_list, SECTION(workers), 1, REMOTE_WORKERS_MOST, .optional = true,
     .items = &worker_items},
    {"discover", &member_object, SECTION(discovery), .optional = true,
     .members = discovery_members},
    {"tls", &member_object, 0, .members = tls_members},
    {"mode", &member_choice, SECTION(mode), .optional = true, .names = worker_modes},
    {0},
};

static bool list_workers(const struct section *section, char ***ret)
{
    for (size_t i = 0; i < section->worker_count; i++) {
        CLEANUP_FREE char *line = NULL;
        if (asprintf(&line, "%s %s", section->workers[i].name, section->workers[i].address) < 0) {
            line = NULL;
            return false;
        }
        if (!string_list_append(ret, line))
            return false;
    }
    return true;
}

/* One way to find them, and all that it needs. */
static bool check_ways(const struct json_place *place, const struct section *section)
{
    const struct discovery *discovery = &section->discovery;
    int ways = (section->worker_count > 0) + !!discovery->dns + !!discovery->file;
    if (ways != 1)
        return json_place_refuse(place, "needs one of \"workers\", \"discover.dns\" and "
                                        "\"discover.file\"");
    if (!discovery->dns != !discovery->name)
        return json_place_refuse(place,
                                 "\"discover.dns\" and \"discover.name\" belong together: "
                                 "the name is what the certificate of each worker must have");
    return true;
}

static bool write_options(const struct json_place *place, const struct section *section,
                          struct wire_bytes *ret)
{
    CLEANUP(cleanup_string_list) char **workers = NULL;
    CLEANUP_FREE char *mode = strdup(worker_modes[section->mode]);
    if (!mode || !list_workers(section, &workers))
        return json_place_out_of_memory(place);
    const struct remote_options options = {
        .workers = workers,
        .discover_dns = section->discovery.dns,
        .discover_name = section->discovery.name,
        .discover_file = section->discovery.file,
        .authority = section->tls.authority,
        .certificate = section->tls.certificate,
        .key = section->tls.key,
        .mode = mode,
    };
    return remote_options_write(&options, ret) ||
           json_place_refuse(place,
                             "is longer than %d bytes in all: list the workers in a file, "
                             "and name it in \"discover.file\"",
                             RUN_OPTIONS_LIMIT);
}

static void clear_section(struct section *section)
{
    json_clear_members(section_members, section);
}

static bool read_section(const struct json_place *place, json_t *json, struct policy *policy,
                         struct wire_bytes *ret)
{
    CLEANUP(clear_section) struct section section = {.workers = NULL};
    if (!json)
        return !policy->mode_allowed[SANDBOX_MODE_REMOTE] ||
               json_place_refuse(place, "is missing: a policy that allows mode remote names its "
                                        "workers there");
    if (!json_read_members(place, json, section_members, &section) ||
        !check_ways(place, &section) || !write_options(place, &section, ret))
        return false;
    policy->rows[SANDBOX_MODE_REMOTE] = worker_rows[section.mode];
    return true;
}

static const char *remedy_for_layer(enum isolation_layer layer,
                                    int error_number __attribute__((unused)))
{
    if (layer == LAYER_USER_NAMESPACE)
        return "the worker's machine forbids user namespaces: code-execute-worker --check says "
               "there what is missing";
    return isolation_layer_remedy(layer);
}

static void write_or_null(struct json_draft *draft, const char *name, const char *text)
{
    json_draft_string(draft, name, text[0] != '\0' ? text : NULL);
}

static void write_details(struct json_draft *draft, const struct call *call)
{
    const struct run_event *ended = &call->outcome.ended;
    const struct remote_details details = remote_details_read(&ended->details);
    write_or_null(draft, "worker", details.worker);
    write_or_null(draft, "worker_mode", details.mode);
    write_or_null(draft, "attested_by", details.attested_by);
    write_or_null(draft, "address", details.address);
    json_draft_integer(draft, "outer_uid", ended->isolation.outer_uid);
    json_draft_integer(draft, "seccomp_instructions", ended->isolation.seccomp_instructions);
}

#define PROGRAM "code-execute-remote"

static const char program_is_missing[] =
    "remote workers are not available: this installation has no remote backend (" PROGRAM
    " is not next to code_execute.so)";
static const char program_remedy[] =
    "build or install code-execute with OpenSSL 3, or where the policy allows it set "
    "CODE_EXEC_SANDBOX=process; a weaker mode is never chosen automatically";
static const char not_allowed[] =
    "mode remote needs a policy that lists it in \"modes\" and has its workers in \"remote\": "
    "policies/remote.json is an example";
static const char no_packages[] = "a set of packages lies on the gateway's disk, where no worker "
                                  "sees it; programs import what the "
                                  "workers' own interpreters have";

/* The members that do not depend on the workers' mode. A connection that is silent for grace_ms
 * counts as lost. */
/* clang-format off */
#define ON_WORKERS                              \
    .program = PROGRAM,                         \
    .program_is_missing = program_is_missing,   \
    .program_remedy = program_remedy,           \
    .machine = "the worker's machine",          \
    .grace_ms = 15000,                          \
    .not_allowed = not_allowed,                 \
    .checked_in = SANDBOX_MODE_REMOTE,          \
    .session_runners = SANDBOX_MODE_EVERY_RUNNER,                 \
    .tool_runners = SANDBOX_MODE_EVERY_RUNNER,                    \
    .has_pool = true,                           \
    .pool_grows = true,                         \
    .has_parts = true,                          \
    .no_packages = no_packages,                 \
    .read_options = read_section,               \
    .layer_remedy = remedy_for_layer,           \
    .write_details = write_details
/* clang-format on */

const struct sandbox_mode_row remote_mode = {
    .name = "remote",
    ON_WORKERS,
    .isolation = RUN_ISOLATION_SANDBOX,
    .mandatory_layers = LAYERS_MANDATORY,
    .possible_layers = LAYERS_ALL,
    .needs = CAPABILITY_EXEC,
    .keeps_checkpoints = true,
};

static const struct sandbox_mode_row unprivileged_workers = {
    .name = "remote",
    ON_WORKERS,
    .isolation = RUN_ISOLATION_UNPRIVILEGED,
    .mandatory_layers = LAYERS_UNPRIVILEGED,
    .possible_layers = LAYERS_UNPRIVILEGED_POSSIBLE,
    .needs = CAPABILITY_MODE_UNPRIVILEGED,
    .keeps_checkpoints = true,
    .no_endpoints = "without namespaces a sandbox holds ports, not addresses",
};

static const struct sandbox_mode_row docker_workers = {
    .name = "remote",
    ON_WORKERS,
    .isolation = RUN_ISOLATION_SANDBOX,
    .mandatory_layers = LAYERS_DOCKER,
    .possible_layers = LAYERS_ALL,
    .needs = CAPABILITY_EXEC,
    .keeps_checkpoints = true,
};
