/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, configures and calls a provider with the grants of the command line. Main thread. */
#include "host/tool_call.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit_setting.h"
#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "host/signal_watch.h"
#include "options/options_help.h"

#define NARROWING_LIMIT 65536u /* bytes */
#define SERVERS_WAIT_MS 5000u  /* a server that takes longer has its tools in later calls */

bool tool_provider_open(const struct options *options, struct provider *ret,
                        struct failure *failure)
{
    CLEANUP_FREE char *path = NULL;
    return provider_locate(options->plugin, &path, failure) && provider_open(path, ret, failure);
}

json_t *tool_manifest_read(const struct options *options, struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    if (!tool_provider_open(options, &provider, failure))
        return NULL;
    const char *text = provider.manifest();
    json_t *manifest = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(manifest))
        return manifest;
    json_decref(manifest);
    (void)failure_set(failure, "provider_failed", "the provider's manifest is no JSON object");
    return NULL;
}

bool tool_policy_path(const char *path, char ret[TOOL_PATH_SIZE], struct failure *failure)
{
    char here[TOOL_PATH_SIZE] = "";
    bool absolute = path[0] == '/';
    if (access(path, F_OK) != 0 || (!absolute && !getcwd(here, sizeof(here))))
        return failure_set_errno(failure, "unreadable_file", errno, "policy %s", path);
    if (strlen(here) + strlen(path) + 2 > TOOL_PATH_SIZE)
        return failure_set_errno(failure, "unreadable_file", ENAMETOOLONG, "policy %s", path);
    (void)stpcpy(stpcpy(stpcpy(ret, here), absolute ? "" : "/"), path);
    return true;
}

/* One, and copies of it. */
#define SESSIONS_KEPT 4

/* toolhost session asks the provider to keep some where no policy says how many. */
static bool wants_session(const struct options *options, const struct provider *provider)
{
    return options->command == COMMAND_SESSION && !options->policy && provider->prepare;
}

static json_t *make_configuration(const struct options *options, bool keeps_session,
                                  struct failure *failure)
{
    char policy[TOOL_PATH_SIZE] = "";
    if (options->policy && !tool_policy_path(options->policy, policy, failure))
        return NULL;
    json_auto_t *object = json_object();
    if (json_member_add(object, "policy_file", options->policy ? policy : NULL) &&
        json_member_add(object, "sandbox", options->sandbox) &&
        (!options->sweep || json_object_set_new(object, "sweep", json_true()) == 0) &&
        (!keeps_session ||
         json_object_set_new(object, "keep_sessions", json_integer(SESSIONS_KEPT)) == 0))
        return TAKE_POINTER(object);
    (void)failure_set(failure, "usage", "the policy's path is not UTF-8");
    return NULL;
}

/* The provider's text as the JSON object it must be. */
static json_t *take_object(const struct provider *provider, char *text, struct failure *failure)
{
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    json_t *object = provider_json_read(copy);
    if (json_is_object(object))
        return object;
    json_decref(object);
    (void)failure_set(failure, "provider_failed",
                      copy ? "the provider's result is no JSON object"
                           : "the provider returned no result");
    failure_set_hint(failure, "check it against the ABI: toolhost conformance FILE.so");
    return NULL;
}

/* false: the provider does not know how, or its configuration is no good in another way. */
static bool prepare_session(const struct options *options, const struct provider *provider)
{
    struct failure ignored;
    json_auto_t *config = make_configuration(options, true, &ignored);
    CLEANUP_FREE char *text = config ? json_compact(config) : NULL;
    return text && provider->prepare(text, NULL) == TOOL_OK;
}

bool tool_provider_prepare(const struct options *options, const struct provider *provider,
                           bool always, bool *ret_refused, json_t **ret_status,
                           struct failure *failure)
{
    *ret_refused = false;
    *ret_status = NULL;
    bool configured = options->policy || options->sandbox || options->sweep;
    bool has_tried = wants_session(options, provider);
    if (has_tried && prepare_session(options, provider))
        return true;
    /* What was refused has to be replaced: no call would run. */
    if (!configured && !has_tried && !(always && provider->prepare))
        return true;
    if (!provider->prepare)
        return failure_set(failure, "plugin_unusable",
                           "this provider does not support --policy, --sandbox or --sweep");
    json_auto_t *config = make_configuration(options, false, failure);
    CLEANUP_FREE char *config_text = config ? json_compact(config) : NULL;
    if (!config_text)
        return false;
    const char *config_json = configured ? config_text : NULL;
    /* The status is probed for, which takes a while: a call wants it only to say why not. */
    if (!always && provider->prepare(config_json, NULL) == TOOL_OK)
        return true;
    char *text = NULL;
    int32_t status = provider->prepare(config_json, &text);
    *ret_status = take_object(provider, text, failure);
    *ret_refused = status != TOOL_OK;
    return *ret_status != NULL;
}

/* The provider checks that it narrows. */
static bool add_narrowing(json_t *context, const char *path, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    json_error_t reason;
    if (!read_bounded_file(path, NARROWING_LIMIT, &text, &length, failure))
        return false;
    json_t *narrowing = json_loadb(text, length, JSON_REJECT_DUPLICATES, &reason);
    if (!narrowing) {
        char why[JSON_PROBLEM_LIMIT];
        json_problem(&reason, why);
        return failure_set(failure, "invalid_input", "%s cannot be read: %s", path, why);
    }
    return json_object_set_new(context, "policy", narrowing) == 0 || failure_out_of_memory(failure);
}

json_t *tool_context(const struct options *options, struct failure *failure)
{
    char memory[4096];
    char workspace[PATH_MAX];
    struct passwd entry, *found = NULL;
    if (options->workspace && !realpath(options->workspace, workspace)) {
        (void)failure_set_errno(failure, "unreadable_file", errno, "workspace %s",
                                options->workspace);
        return NULL;
    }
    (void)getpwuid_r(getuid(), &entry, memory, sizeof(memory), &found);
    json_auto_t *context = json_object();
    if (!json_member_add(context, "principal", found ? found->pw_name : NULL) ||
        !json_member_add(context, "workspace", options->workspace ? workspace : NULL))
        (void)failure_set(failure, "usage", "the workspace's path is not UTF-8");
    else if (!options->narrow || add_narrowing(context, options->narrow, failure))
        return TAKE_POINTER(context);
    return NULL;
}

static const char *name_at(const void *words, size_t index)
{
    return json_string_value(json_array_get(words, index));
}

/* The provider would never ask for one that its manifest does not name. */
static bool check_capability_name(const json_t *names, const char *grant, struct failure *failure)
{
    char name[256];
    const char *begin = grant + (grant[0] == '!');
    const char *known = NULL;
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "="), begin);
    for (size_t i = 0; (known = name_at(names, i)) != NULL; i++) {
        if (strcmp(known, name) == 0)
            return true;
    }
    const char *meant = suggestion_find(name, name_at, names);
    (void)failure_usage(failure, "--cap %s: the provider's manifest names no such capability",
                        grant);
    return meant ? failure_set_hint(failure, "did you mean %s?", meant)
                 : failure_set_hint(failure, "toolhost manifest shows its capabilities");
}

/* Capabilities: the provider's harmless ones, and those of the command line. */
static bool grant_capabilities(const struct options *options, const struct provider *provider,
                               struct tool_grants *grants, struct failure *failure)
{
    grants->manifest = capability_manifest_read(provider->manifest());
    const json_t *defaults = grants->manifest.default_grants;
    size_t most = json_array_size(defaults) + options->capability_count;
    grants->capabilities = reallocarray(NULL, most + 1, sizeof(*grants->capabilities));
    if (!defaults || !grants->capabilities)
        return failure_out_of_memory(failure);
    size_t count = 0;
    for (size_t i = 0; !options->no_default_capabilities && i < json_array_size(defaults); i++)
        grants->capabilities[count++] = json_string_value(json_array_get(defaults, i));
    for (size_t i = 0; i < options->capability_count; i++) {
        if (!check_capability_name(grants->manifest.names, options->capabilities[i], failure))
            return false;
        grants->capabilities[count++] = options->capabilities[i];
    }
    grants->grants.capabilities = grants->capabilities;
    grants->grants.capability_count = count;
    return true;
}

static void grant_secrets(const struct options *options, struct tool_grants *grants)
{
    for (size_t i = 0; i < options->secrets.count; i++)
        grants->secrets[i] =
            (struct named_secret){options->secrets.pairs[i].name, options->secrets.pairs[i].value};
    grants->grants.secrets = grants->secrets;
    grants->grants.secret_count = options->secrets.count;
}

/* The servers of --tools-from, if it is given. */
static bool start_servers(const struct options *options, const struct provider *provider,
                          struct tool_grants *grants, struct failure *failure)
{
    if (!options->tools_from)
        return true;
    if (!provider->reply_call)
        return failure_set(failure, "plugin_unusable",
                           "this provider's programs cannot call tools: it does not support "
                           "--tools-from");
    grants->servers = tool_servers_start(options->tools_from, provider->manifest(),
                                         provider->reply_call, failure);
    if (!grants->servers)
        return false;
    tool_servers_wait(grants->servers, SERVERS_WAIT_MS);
    grants->grants.tool_servers = grants->servers;
    return true;
}

bool tool_grants_make(const struct options *options, const struct provider *provider,
                      struct tool_grants *ret, struct failure *failure)
{
    if (!audit_setting_make(&options->audit, &ret->audit, failure) ||
        !artifact_store_init(&ret->artifacts, options->artifacts, options->artifacts_max_bytes,
                             options->artifacts_age_ms, failure))
        return false;
    ret->grants = (struct grants){
        .provider = provider,
        .approver = options->approver,
        .audit_log = ret->audit.log,
        .artifacts = &ret->artifacts,
    };
    grant_secrets(options, ret);
    return grant_capabilities(options, provider, ret, failure) &&
           start_servers(options, provider, ret, failure);
}

void tool_grants_clear(struct tool_grants *grants)
{
    tool_servers_stop(grants->servers);
    audit_setting_clear(&grants->audit);
    artifact_store_clear(&grants->artifacts);
    capability_manifest_clear(&grants->manifest);
    free(grants->capabilities);
    *grants = (struct tool_grants){0};
}

struct invocation {
    int32_t status;
    char *text; /* the provider's */
    bool interrupted;
};

static bool invoke_watched(const struct open_tool *tool, const struct tool_input *input,
                           uint64_t call_id, int signal_fd, struct grants *grants,
                           struct invocation *ret, struct failure *failure)
{
    json_auto_t *object = tool_context(tool->options, failure);
    CLEANUP_FREE char *plain =
        object && grants_add_tools(grants, object) ? json_compact(object) : NULL;
    const struct file_sources sources = {tool->options->files_below, grants->artifacts};
    CLEANUP_FREE char *context =
        plain ? lent_files_context(input->files, &sources, input->json, plain) : NULL;
    if (!context)
        return object ? failure_out_of_memory(failure) : false;
    CLEANUP(signal_watch_stop) struct signal_watch watch = {0};
    if (!signal_watch_start(&watch, tool->provider.cancel, call_id, signal_fd, failure))
        return false;
    grants->cancelled_fd = watch.cancelled_fd;
    CLEANUP(call_questions_end) struct call_questions questions;
    call_questions_init(&questions, grants_decide_call, grants, tool->provider.reply_approval);
    grants->questions = &questions;
    struct tool_host host;
    host_callbacks_fill(&host, grants, call_id, context);
    ret->status = tool->provider.invoke(tool->options->tool, input->json, &host, &ret->text);
    ret->interrupted = signal_watch_was_signalled(&watch);
    return true;
}

bool open_tool_init(const struct options *options, struct open_tool *ret, json_t **ret_refusal,
                    struct failure *failure)
{
    bool refused = false;
    json_auto_t *status = NULL;
    *ret_refusal = NULL;
    ret->options = options;
    if (!tool_provider_open(options, &ret->provider, failure) ||
        !tool_provider_prepare(options, &ret->provider, false, &refused, &status, failure))
        return false;
    if (refused)
        *ret_refusal = TAKE_POINTER(status);
    return refused || tool_grants_make(options, &ret->provider, &ret->grants, failure);
}

bool open_tool_call(struct open_tool *tool, const struct tool_input *input,
                    const struct call_listener *listener, int signal_fd, struct call_result *ret,
                    struct failure *failure)
{
    struct grants grants = tool->grants.grants;
    struct invocation made = {.status = TOOL_FAILED};
    grants.take_output = listener->take_output;
    grants.take_notice = listener->take_notice;
    grants.user = listener->user;
    grants.files = input->files;
    if (!invoke_watched(tool, input, ++tool->last_call, signal_fd, &grants, &made, failure))
        return false;
    *ret = (struct call_result){.ran = made.status == TOOL_OK, .interrupted = made.interrupted};
    ret->json = take_object(&tool->provider, made.text, failure);
    grants_add_denial_hint(&grants, ret->json);
    return ret->json != NULL;
}

void open_tool_clear(struct open_tool *tool)
{
    tool_grants_clear(&tool->grants);
    provider_close(&tool->provider);
}

bool tool_call(const struct options *options, const struct tool_input *input,
               const struct call_listener *listener, struct call_result *ret,
               struct failure *failure)
{
    CLEANUP(open_tool_clear) struct open_tool tool = {0};
    json_t *refusal = NULL;
    if (!open_tool_init(options, &tool, &refusal, failure))
        return false;
    *ret = (struct call_result){.json = refusal};
    return refusal || open_tool_call(&tool, input, listener, -1, ret, failure);
}
