/* SPDX-License-Identifier: Apache-2.0 */
/* How secrets reach a run's description. Runs in the gateway, on the thread inside tool_invoke().
 */
#include "gate/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "redaction/redaction.h"
#include "run/describe.h"
#include "secrets/secret.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"

#define SECRETS_DIRECTORY ".secrets" /* in the working directory */

/* Of a session behind the policy's variables, as those of its cells. */
static bool set_variable(struct call *call, const char *name, const void *value, size_t length)
{
    char ***list = &call->description.environment;
    return call->request.session ? environment_add(list, name, value, length)
                                 : environment_set(list, name, value, length);
}

/* A variable ends at a NUL. */
static bool put_in_environment(struct call *call, const struct request_secret *secret,
                               const struct secret_value *value, struct error *error)
{
    if (memchr(value->memory.bytes, '\0', value->length)) {
        error_set(error, ERROR_SECRET_UNUSABLE,
                  "the secret \"%s\" contains a NUL byte and cannot be an environment variable",
                  secret->name);
        return false;
    }
    if (set_variable(call, secret->variable, value->memory.bytes, value->length))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the secrets");
    return false;
}

/* The directory is ours: a file of the request's there might be taken for a secret. */
static bool check_directory(const struct request *request, struct error *error)
{
    for (size_t i = 0; i < request->file_count; i++) {
        const char *path = request->files[i].path;
        size_t length = strlen(SECRETS_DIRECTORY);
        if (strncmp(path, SECRETS_DIRECTORY, length) != 0 ||
            (path[length] != '\0' && path[length] != '/'))
            continue;
        error_set(error, ERROR_SECRET_UNUSABLE,
                  "the request has a file in " SECRETS_DIRECTORY ", where its secrets would be");
        error_set_hint(error, "give the file another path");
        return false;
    }
    return true;
}

/* One for each secret, however many variables name it. */
static bool has_file(const struct run_description *description, const char *path)
{
    for (size_t i = description->file_count - description->private_file_count;
         i < description->file_count; i++)
        if (strcmp(description->files[i].path, path) == 0)
            return true;
    return false;
}

/* In the memory file system of the sandbox. Without one it would be written to a disk. */
static bool put_in_file(struct call *call, const struct request_secret *secret,
                        const struct secret_value *value, struct error *error)
{
    struct run_description *description = &call->description;
    char path[sizeof(RUN_HOME "/" SECRETS_DIRECTORY "/") + SECRET_NAME_LIMIT];
    (void)snprintf(path, sizeof(path), RUN_HOME "/" SECRETS_DIRECTORY "/%s", secret->name);
    const char *relative = path + sizeof(RUN_HOME);
    if (policy_mode_row(call->configuration.policy, call->configuration.mode)->isolation !=
        RUN_ISOLATION_SANDBOX) {
        error_set(error, ERROR_SECRET_UNUSABLE,
                  "the secret \"%s\" is delivered as a file, which mode %s does not have",
                  secret->name, sandbox_mode_name(call->configuration.mode));
        error_set_hint(error, "ask the operator for another mode, or to deliver it as a variable");
        return false;
    }
    if (!check_directory(&call->request, error))
        return false;
    bool put = has_file(description, relative);
    if (!put) {
        description->private_file_count++;
        put = describe_add_file(description, relative, value->memory.bytes, value->length);
    }
    if (put && set_variable(call, secret->variable, path, strlen(path)))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the secrets");
    return false;
}

bool call_read_secret(struct call *call, const char *name, struct secret_value *ret,
                      struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const struct secret_sources sources = {
        .host = &call->host,
        .providers = policy->secret_providers,
        .provider_count = policy->secret_provider_count,
        .cancel_fd = call->registration.cancel_fd,
    };
    return secret_value_read(&sources, name, ret, error);
}

static bool deliver(struct call *call, const struct request_secret *secret, struct error *error)
{
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    const struct policy *policy = call->configuration.policy;
    if (!call_read_secret(call, secret->name, &value, error) ||
        !redaction_add(call->redaction, secret->name, value.memory.bytes, value.length, error))
        return false;
    if (value.length < REDACTION_MINIMUM)
        call_note(call, "the secret %s is too short to be redacted from the output", secret->name);
    return policy_secret_is_file(policy, secret->name)
               ? put_in_file(call, secret, &value, error)
               : put_in_environment(call, secret, &value, error);
}

/* A cell behind the first. Its session has the values, and nobody is asked for them again. */
static bool keep_secrets(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const char *names[REQUEST_SECRETS_LIMIT];
    size_t count = call_secrets(call, names);
    call->redaction = call->session->redaction;
    for (size_t i = 0; i < count; i++)
        if (policy_secret_is_file(policy, names[i]) && !check_directory(&call->request, error))
            return false;
    return true;
}

bool deliver_secrets(struct call *call, struct error *error)
{
    const struct request *request = &call->request;
    size_t variables = string_list_count(call->description.environment);
    if (call->session)
        return keep_secrets(call, error);
    if (request->secret_count == 0)
        return true;
    call->redaction = redaction_new();
    if (!call->redaction) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the secrets");
        return false;
    }
    for (size_t i = 0; i < request->secret_count; i++)
        if (!deliver(call, &request->secrets[i], error))
            return false;
    if (request->session)
        call->description.session.lasting_variables =
            (uint32_t)(string_list_count(call->description.environment) - variables);
    return true;
}
