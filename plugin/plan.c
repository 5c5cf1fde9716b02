/* SPDX-License-Identifier: Apache-2.0 */
/* Building run descriptions. Runs in the gateway, on the thread inside tool_invoke() or
 * tool_status(). */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "environment.h"
#include "offer_hint.h"
#include "preparation.h"
#include "protocol/layers.h"
#include "shell_names.h"
#include "string_list.h"
#include "timeout_hint.h"

/* Shown in the view only to runs that keep the host's network. */
static const char *const network_paths[] = {"/etc/resolv.conf", "/etc/ssl",
                                            "/usr/share/ca-certificates", NULL};

/* The lists that do not depend on the request; argv[0] only, the rest of argv is the caller's. */
static bool fill_common(const struct policy *policy, enum sandbox_mode mode,
                        const struct policy_language *language, bool network,
                        struct run_description *ret)
{
    bool sandboxed = mode != SANDBOX_MODE_NONE;
    ret->isolation = sandboxed ? RUN_ISOLATION_SANDBOX : RUN_ISOLATION_NONE;
    ret->network = network;
    ret->required =
        sandboxed ? policy->required_layers |
                        (mode == SANDBOX_MODE_DOCKER ? LAYERS_MANDATORY_DOCKER : LAYERS_MANDATORY)
                  : 0;
    if (network)
        ret->required &= ~LAYER_BIT(LAYER_NETWORK_NAMESPACE);
    ret->pool_size = policy->pools[mode].ready;
    ret->pool_most = policy->pools[mode].most;
    ret->pool_memory = policy->pools[mode].memory_bytes;
    ret->pool_idle_ms = policy->pools[mode].idle_ms;
    ret->outer_uid_base = policy->outer_uid_base;
    ret->outer_uid_count = policy->outer_uid_count;
    bool filled =
        string_list_append_all(&ret->runtime_path, (const char *const *)policy->runtime_path) &&
        string_list_append_all(&ret->read_only_paths, (const char *const *)policy->read_only) &&
        environment_set_all(&ret->environment, policy->environment);
    if (filled && sandboxed && !network)
        filled = environment_set_all(&ret->environment, policy->environment_without_network);
    if (filled && language != NULL)
        filled = string_list_append_all(&ret->read_only_paths,
                                        (const char *const *)language->read_only) &&
                 environment_set_all(&ret->environment, language->environment);
    if (filled && network)
        filled = string_list_append_all(&ret->read_only_paths, network_paths);
    return filled;
}

static bool copy_text(const char *text, char **ret)
{
    *ret = strdup(text != NULL ? text : "");
    return *ret != NULL;
}

/* Where the engine is and what of it: docker mode only. */
static bool fill_docker(const struct policy_docker *docker, enum sandbox_mode mode,
                        const char *image, struct run_docker *ret)
{
    if (mode != SANDBOX_MODE_DOCKER)
        return true;
    ret->tls = docker->tls;
    ret->require_digest = docker->require_digest;
    ret->pull = RUN_PULL_NEVER; /* only trials fetch: see readiness.c */
    return copy_text(docker->host, &ret->host) && copy_text(docker->context, &ret->context) &&
           copy_text(docker->config_directory, &ret->config_directory) &&
           copy_text(docker->certificates, &ret->certificates) &&
           copy_text(docker->runtime, &ret->runtime) && copy_text(image, &ret->image);
}

static void fill_limits(const struct policy_limits *limits, struct run_limits *ret)
{
    *ret = (struct run_limits){
        .wall_ms = limits->wall_ms.default_value,
        .cpu_ms = limits->cpu_ms.default_value,
        .memory_bytes = limits->memory_bytes.default_value,
        .processes = limits->processes.default_value,
        .open_files = limits->open_files.default_value,
        .file_bytes = limits->file_bytes.default_value,
        .scratch_bytes = limits->scratch_bytes.default_value,
        .scratch_inodes = limits->scratch_inodes.default_value,
    };
}

static bool settle_time(struct call *call, struct error *error)
{
    const struct policy_limits *limits = &call->limits;
    struct run_limits *run = &call->description.limits;
    uint64_t most_ms = call_wall_limit(call, limits)->maximum;
    run->wall_ms = call_usual_wall_ms(call);
    if (call->request.timeout_ms == 0)
        return true;
    if (call->request.timeout_ms > most_ms) {
        bool narrowed = most_ms < call_wall_limit(call, &call->language->limits)->maximum;
        error_set(error, ERROR_LIMIT_TOO_HIGH,
                  "request: /timeout_ms: %llu is more than the %s ceiling of %llu for %s",
                  (unsigned long long)call->request.timeout_ms, narrowed ? "gateway's" : "policy's",
                  (unsigned long long)most_ms, call->language->name);
        timeout_hint_too_high(call, error);
        return false;
    }
    run->wall_ms = call->request.timeout_ms;
    /* More time is of no use without the processor's share of it. */
    if (run->wall_ms > run->cpu_ms)
        run->cpu_ms = run->wall_ms < limits->cpu_ms.maximum ? run->wall_ms : limits->cpu_ms.maximum;
    return true;
}

/* The language's command, or the one that its image wants. */
static char *const *command_of(const struct policy *policy, enum sandbox_mode mode,
                               const struct policy_language *language)
{
    const struct policy_image *image =
        mode == SANDBOX_MODE_DOCKER ? policy_find_image(policy, language->name) : NULL;
    return image != NULL && image->argv != NULL ? image->argv : language->argv;
}

/* file: what the command runs. */
static bool add_command(struct run_description *description, char *const *command, const char *file)
{
    for (size_t i = 0; command[i] != NULL; i++) {
        bool is_program = strcmp(command[i], "{file}") == 0;
        if (!string_list_append(&description->argv, is_program ? file : command[i]))
            return false;
    }
    return true;
}

/* Without a sandbox nothing is kept. */
static bool prepare(struct call *call)
{
    struct run_description *description = &call->description;
    return call->configuration.mode == SANDBOX_MODE_NONE ||
           preparation_fill(&call->language->preparation, &call->request, call->language->file,
                            description);
}

static bool copy_file(const char *path, const void *content, size_t length, struct run_file *ret)
{
    ret->path = strdup(path);
    ret->content = malloc(length + 1);
    if (ret->path == NULL || ret->content == NULL)
        return false;
    memcpy(ret->content, content, length);
    ret->length = length;
    return true;
}

static bool stands_in_place_of(const char *path, const char *file)
{
    size_t length = strlen(file);
    return strncmp(path, file, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool add_files(struct call *call, struct error *error)
{
    struct run_description *description = &call->description;
    const struct request *request = &call->request;
    const char *program = call->language->file;
    description->files = calloc(request->file_count + 1 + request->secret_count,
                                sizeof(*description->files)); /* secrets may be files */
    bool copied = description->files != NULL;
    if (copied) {
        description->file_count = request->file_count + 1;
        copied = copy_file(program, request->code, request->code_length, &description->files[0]);
    }
    for (size_t i = 0; copied && i < request->file_count; i++) {
        const struct run_file *file = &request->files[i];
        if (stands_in_place_of(file->path, program)) {
            error_set(error, ERROR_INVALID_INPUT,
                      "request: /files/%zu/path: %s is the program's own file", i, program);
            return false;
        }
        copied = copy_file(file->path, file->content, file->length, &description->files[i + 1]);
    }
    if (!copied)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the program's files");
    return copied;
}

static bool refuse_unsupported(const struct call *call, struct error *error)
{
    const struct request *request = &call->request;
    if (request->session != NULL) {
        error_set(error, ERROR_NOT_SUPPORTED,
                  "request: /session: sessions are not supported yet; every run is fresh");
        return true;
    }
    if (request->image != NULL && call->configuration.mode != SANDBOX_MODE_DOCKER) {
        error_set(error, ERROR_NOT_SUPPORTED,
                  "request: /image: only docker mode has images; the mode is %s",
                  sandbox_mode_name(call->configuration.mode));
        return true;
    }
    return false;
}

/* The request's image, of the policy's list, or the language's own; NULL in other modes. */
static bool choose_image(const struct call *call, const char **ret, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const char *asked = call->request.image;
    if (call->configuration.mode != SANDBOX_MODE_DOCKER) {
        *ret = NULL;
        return true;
    }
    const struct policy_image *own = policy_find_image(policy, call->language->name);
    if (asked != NULL && !policy_offers_image(policy, asked)) {
        error_set(error, ERROR_POLICY_DENIED, "policy denied: image");
        offer_hint_image(call, own != NULL && policy_image_is_settled(policy, own->name), error);
        return false;
    }
    if (asked == NULL && own == NULL) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED,
                  "the policy has no docker image for the language %s", call->language->name);
        offer_hint_language(call, "add it to the policy's \"docker.images\"", error);
        return false;
    }
    *ret = asked != NULL ? asked : own->name;
    return true;
}

/* The policy's variables that its shell would not set. */
static const char *find_shell_name_of_policy(const struct call *call)
{
    const char *name = shell_names_find(call->configuration.policy->environment);
    return name != NULL ? name : shell_names_find(call->language->environment);
}

static const char *find_shell_name_of_secrets(const struct request *request)
{
    for (size_t i = 0; i < request->secret_count; i++)
        if (shell_names_has(request->secrets[i].variable))
            return request->secrets[i].variable;
    return NULL;
}

static bool refuse_shell_name(const char *member, const char *name, struct error *error)
{
    error_set(error, ERROR_INVALID_INPUT,
              "request: /%s/%s: cannot be set in docker mode: the shell that starts the program "
              "reserves this variable",
              member, name);
    error_set_hint(error, "give the variable another name, or set it in the program");
    return true;
}

static bool refuse_shell_names(const struct call *call, struct error *error)
{
    const struct request *request = &call->request;
    const char *name;
    if (call->configuration.mode != SANDBOX_MODE_DOCKER)
        return false;
    if ((name = find_shell_name_of_policy(call)) != NULL) {
        error_set(error, ERROR_INVALID_POLICY,
                  "policy: the variable %s in \"environment\" of the policy or of the language %s "
                  "cannot be set in docker mode: the shell that starts the program reserves it",
                  name, call->language->name);
        error_set_hint(error, "remove the variable from the policy");
        return true;
    }
    if ((name = shell_names_find(request->environment)) != NULL)
        return refuse_shell_name("env", name, error);
    if ((name = find_shell_name_of_secrets(request)) != NULL)
        return refuse_shell_name("secrets", name, error);
    return false;
}

bool plan_run(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    struct run_description *description = &call->description;
    if (refuse_unsupported(call, error))
        return false;
    call->language = policy_find_language(policy, call->request.language->name);
    if (call->language == NULL) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED, "the policy does not offer the language %s",
                  call->request.language->name);
        offer_hint_language(call, "add it to the policy's \"languages\"", error);
        return false;
    }
    if (!narrowing_leaves_language(&call->context.narrowing, call->language->name)) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED,
                  "the gateway does not offer this caller the language %s", call->language->name);
        offer_hint_language(call, NULL, error);
        return false;
    }
    const char *image;
    if (!choose_image(call, &image, error) || refuse_shell_names(call, error))
        return false;
    memcpy(description->run_id, call->run_id, sizeof(description->run_id));
    call->limits = narrowing_limits(&call->context.narrowing, &call->language->limits);
    const struct policy_limits *limits = &call->limits;
    fill_limits(limits, &description->limits);
    call->stdout_limit = limits->stdout_bytes.default_value;
    call->stderr_limit = limits->stderr_bytes.default_value;
    call->output_limit = limits->output_total_bytes.default_value;
    if (!settle_time(call, error))
        return false;
    if (!fill_common(policy, call->configuration.mode, call->language, call->request.network,
                     description) ||
        !fill_docker(&policy->docker, call->configuration.mode, image, &description->docker) ||
        !copy_text(call->context.workspace, &description->workspace) ||
        !add_command(description, command_of(policy, call->configuration.mode, call->language),
                     call->language->file) ||
        !prepare(call) ||
        !string_list_append_all(&description->argv, (const char *const *)call->request.args) ||
        !environment_set_all(&description->environment, call->request.environment)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the run's description");
        return false;
    }
    return add_files(call, error);
}

enum sandbox_mode plan_checking_mode(enum sandbox_mode mode)
{
    return mode == SANDBOX_MODE_NONE ? SANDBOX_MODE_PROCESS : mode;
}

bool plan_content_check(const struct call *call, size_t file_limit, struct run_description *ret)
{
    static const struct request no_request;
    const struct policy *policy = call->configuration.policy;
    const struct policy_language *language = call->language;
    const struct run_docker *docker = &call->description.docker;
    enum sandbox_mode mode = plan_checking_mode(call->configuration.mode);
    memcpy(ret->run_id, call->run_id, sizeof(ret->run_id));
    fill_limits(&language->limits, &ret->limits);
    ret->limits.wall_ms = policy->content.timeout_ms;
    ret->files = calloc(file_limit, sizeof(*ret->files));
    return ret->files != NULL && fill_common(policy, mode, language, false, ret) &&
           fill_docker(&policy->docker, mode, docker->image, &ret->docker) &&
           copy_text(docker->image_id, &ret->docker.image_id) && copy_text("", &ret->workspace) &&
           add_command(ret, command_of(policy, mode, language), language->file) &&
           preparation_fill(&language->preparation, &no_request, language->file, ret);
}

bool plan_content_command(const struct call *call, struct run_description *ret)
{
    const struct policy *policy = call->configuration.policy;
    const struct content_outsider *command = &policy->content.command;
    memcpy(ret->run_id, call->run_id, sizeof(ret->run_id));
    ret->isolation = RUN_ISOLATION_NONE;
    ret->limits.wall_ms = command->timeout_ms;
    return string_list_append_all(&ret->argv, (const char *const *)command->argv) &&
           string_list_append_all(&ret->runtime_path, (const char *const *)policy->runtime_path) &&
           environment_set_all(&ret->environment, policy->environment);
}

bool plan_add_file(struct run_description *description, const char *path, const void *content,
                   size_t length)
{
    /* First: a half-made one is the description's to free. */
    return copy_file(path, content, length, &description->files[description->file_count++]);
}

bool plan_trial(const struct trial_subject *subject, struct run_description *ret)
{
    const struct policy *policy = subject->policy;
    const struct policy_language *language = subject->language;
    CLEANUP(run_description_clear)
    struct run_description description = {.purpose = RUN_PURPOSE_TRIAL};
    memset(description.run_id, '0', RUN_ID_LENGTH);
    fill_limits(language != NULL ? &language->limits : &policy->limits, &description.limits);
    const char *program = language != NULL ? command_of(policy, subject->mode, language)[0] : "sh";
    if (!fill_common(policy, subject->mode, language, subject->network, &description) ||
        !fill_docker(&policy->docker, subject->mode, subject->image, &description.docker) ||
        !copy_text(subject->workspace, &description.workspace) ||
        !string_list_append(&description.argv, program))
        return false;
    description.docker.pull = subject->pull;
    description.workspace_id = subject->workspace_id;
    *ret = description;
    description = (struct run_description){0};
    return true;
}

bool plan_preparation(const struct trial_subject *subject, const char *word,
                      struct run_description *ret)
{
    const struct policy_language *language = subject->language;
    CLEANUP_FREE char *code = strdup(word != NULL ? word : "");
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (code == NULL || !plan_trial(subject, &description))
        return false;
    const struct request request = {.code = code, .code_length = strlen(code)};
    string_list_free(TAKE_POINTER(description.argv));
    description.purpose = RUN_PURPOSE_PREPARE;
    if (!add_command(&description, command_of(subject->policy, subject->mode, language),
                     language->file) ||
        !preparation_fill(&language->preparation, &request, language->file, &description))
        return false;
    if (description.pool_size > 0) /* nobody has asked for more yet */
        description.pool_size = description.pool_most = 1;
    *ret = description;
    description = (struct run_description){0};
    return true;
}

bool plan_sweep(const struct policy *policy, enum sandbox_mode mode, struct run_description *ret)
{
    const struct trial_subject subject = {.policy = policy, .mode = mode};
    if (!plan_trial(&subject, ret))
        return false;
    ret->purpose = RUN_PURPOSE_SWEEP;
    return true;
}
