/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's docker section, and the environment's variables for every docker client: see
 * docker_policy.h. */
#include "backends/docker/gateway/docker_policy.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/messages/docker_messages.h"
#include "base/cleanup.h"
#include "policy/configuration.h"
#include "policy/policy_parse.h"

static bool check_name(const struct json_place *place, const char *name)
{
    return policy_check_plain_name(place, name, "._+-");
}

#define AT(member) .offset = offsetof(struct docker_options, member)

static const struct json_member members[] = {
    {"host", &member_text, AT(host), 1, DOCKER_HOST_LIMIT, .optional = true,
     .check = json_check_printable},
    {"context", &member_text, AT(context), 1, RUN_NAME_LIMIT, .optional = true,
     .check = check_name},
    {"certificates", &member_text, AT(certificates), 1, POLICY_STRING_LIMIT, .optional = true,
     .check = json_check_absolute_path},
    {"runtime", &member_text, AT(runtime), 1, RUN_NAME_LIMIT, .optional = true,
     .check = check_name},
    /* Of the images: see policy_parse.h. */
    {.name = "require_digest"},
    {.name = "pull"},
    {.name = "images"},
    {.name = "offered"},
    {0},
};

bool docker_policy_read(const struct json_place *place, json_t *section, struct policy *policy,
                        struct wire_bytes *ret)
{
    CLEANUP(docker_options_clear) struct docker_options options = {.host = NULL};
    if (!json_read_members(place, section, members, &options) ||
        !policy_read_fetching(place, section, SANDBOX_MODE_DOCKER, policy) ||
        !policy_read_images(place, section, SANDBOX_MODE_DOCKER, policy))
        return false;
    return docker_options_write(&options, ret) || json_place_out_of_memory(place);
}

static bool take_directory(const char *name, char **text, struct error *error)
{
    if (!configuration_take_variable(name, PATH_MAX - 1, text, error))
        return false;
    if (**text == '\0' || **text == '/')
        return true;
    error_set(error, ERROR_INVALID_POLICY, "%s must be an absolute path", name);
    return false;
}

/* Where docker keeps its own configuration: DOCKER_CONFIG, else ~/.docker. */
static bool find_config_directory(char **directory, struct error *error)
{
    const char *home = secure_getenv("HOME");
    char *in_home = NULL;
    if (!take_directory("DOCKER_CONFIG", directory, error))
        return false;
    if (**directory || !home || home[0] != '/')
        return true;
    if (asprintf(&in_home, "%s/.docker", home) < 0) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for docker's directory");
        return false;
    }
    free(*directory);
    *directory = in_home;
    return true;
}

/* The operator chooses the engine: by the policy, else by the variables that every docker client
 * knows. A policy that names an engine has settled the context too. */
static bool choose_engine(struct docker_options *options, struct error *error)
{
    const char *verify = secure_getenv("DOCKER_TLS_VERIFY");
    bool settled = options->host[0] || options->context[0];
    if (!settled &&
        (!configuration_take_variable("DOCKER_HOST", DOCKER_HOST_LIMIT, &options->host, error) ||
         !configuration_take_variable("DOCKER_CONTEXT", RUN_NAME_LIMIT, &options->context, error)))
        return false;
    options->tls = options->certificates[0] || (verify && verify[0] != '\0');
    return take_directory("DOCKER_CERT_PATH", &options->certificates, error) &&
           find_config_directory(&options->config_directory, error);
}

bool docker_policy_add_environment(struct wire_bytes *bytes, struct error *error)
{
    CLEANUP(docker_options_clear) struct docker_options options = {.host = NULL};
    if (docker_options_read(bytes, &options)) {
        if (!choose_engine(&options, error))
            return false;
        if (docker_options_write(&options, bytes))
            return true;
    }
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for docker's options");
    return false;
}
