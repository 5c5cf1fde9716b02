/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and comparing the inputs of a program beside its code. Runs in the gateway on the calling
 * thread. */
#include "policy/policy_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "vocabulary/environment.h"

static int compare_strings(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void sort(char **list)
{
    if (list)
        qsort((void *)list, string_list_count(list), sizeof(*list), compare_strings);
}

/* "FIRST" and "SECOND" with the separator between them, at the end of the list. */
static bool append_pair(char ***list, const char *first, char separator, const char *second)
{
    size_t size = strlen(first) + strlen(second) + 2;
    CLEANUP_FREE char *pair = malloc(size);
    if (!pair)
        return false;
    (void)snprintf(pair, size, "%s%c%s", first, separator, second);
    return string_list_append(list, pair);
}

static bool read_args(const struct json_place *place, json_t *value, void *object)
{
    struct rule_inputs *inputs = object;
    if (!json_read_array(place, value, 0, REQUEST_ARGS_LIMIT))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        const char *text;
        if (!json_read_string(&item, json_array_get(value, i), 0, REQUEST_STRING_LIMIT, &text))
            return false;
        if (!string_list_append(&inputs->args, text))
            return json_place_out_of_memory(&item);
    }
    return true;
}

static bool read_environment(const struct json_place *place, json_t *value, void *object)
{
    struct rule_inputs *inputs = object;
    return environment_read(place, value, REQUEST_ENVIRONMENT_LIMIT, REQUEST_STRING_LIMIT,
                            &inputs->environment);
}

/* Of each variable the name of the secret that it gets. */
static bool read_secrets(const struct json_place *place, json_t *value, void *object)
{
    struct rule_inputs *inputs = object;
    if (!environment_read(place, value, REQUEST_SECRETS_LIMIT, REQUEST_STRING_LIMIT,
                          &inputs->secrets))
        return false;
    for (char **pair = inputs->secrets; *pair; pair++) {
        const char *name = strchr(*pair, '=') + 1;
        struct json_place member = json_place_member(place, *pair, (size_t)(name - *pair) - 1);
        if (!policy_check_secret_name(&member, name))
            return false;
    }
    return true;
}

/* Of each path the SHA-256 of its content. */
static bool read_files(const struct json_place *place, json_t *value, void *object)
{
    struct rule_inputs *inputs = object;
    const char *path;
    size_t length;
    json_t *content;
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > REQUEST_FILES_LIMIT)
        return json_place_refuse(place, "must have at most %d members", REQUEST_FILES_LIMIT);
    json_object_keylen_foreach(value, path, length, content)
    {
        struct json_place member = json_place_member(place, path, length);
        char hash[SHA256_HEX_LENGTH + 1];
        if (length == 0 || length > REQUEST_PATH_LIMIT)
            return json_place_refuse(&member, "a file's path must be of 1 to %d bytes",
                                     REQUEST_PATH_LIMIT);
        if (!json_check_relative_path(&member, path) ||
            !policy_sha256.read(&member, content, NULL, hash))
            return false;
        if (!append_pair(&inputs->files, hash, ' ', path))
            return json_place_out_of_memory(&member);
    }
    return true;
}

#define AT(member) .offset = offsetof(struct rule_inputs, member)

const struct json_member rule_inputs_members[] = {
    {"args", &policy_strings, AT(args), .optional = true, .read = read_args},
    {"env", &policy_environment, AT(environment), .optional = true, .read = read_environment},
    {"stdin_sha256", &policy_sha256, AT(stdin_sha256), .optional = true},
    {"files", &policy_strings, AT(files), .optional = true, .read = read_files},
    {"image", &member_text, AT(image), 1, REQUEST_IMAGE_LIMIT, .optional = true},
    {"secrets", &policy_strings, AT(secrets), .optional = true, .read = read_secrets},
    {0},
};

static void sort_lists(struct rule_inputs *inputs)
{
    sort(inputs->environment);
    sort(inputs->files);
    sort(inputs->secrets);
}

bool rule_inputs_read(const struct json_place *place, json_t *value, struct rule_inputs *ret)
{
    if (!json_read_members(place, value, rule_inputs_members, ret))
        return false;
    sort_lists(ret);
    return true;
}

static bool add_files(const struct request *request, char ***ret)
{
    char hash[SHA256_HEX_LENGTH + 1];
    for (size_t i = 0; i < request->file_count; i++) {
        request_file_hash(&request->files[i], hash);
        if (!append_pair(ret, hash, ' ', request->files[i].path))
            return false;
    }
    return true;
}

static bool add_secrets(const struct request *request, char ***ret)
{
    for (size_t i = 0; i < request->secret_count; i++)
        if (!append_pair(ret, request->secrets[i].variable, '=', request->secrets[i].name))
            return false;
    return true;
}

bool rule_inputs_of_request(const struct request *request, struct rule_inputs *ret)
{
    *ret = (struct rule_inputs){0};
    if (request->image && !(ret->image = strdup(request->image)))
        return false;
    if (!string_list_append_all(&ret->args, (const char *const *)request->args) ||
        !string_list_append_all(&ret->environment, (const char *const *)request->environment) ||
        !add_files(request, &ret->files) || !add_secrets(request, &ret->secrets))
        return false;
    /* An empty input is none: the program reads its end at once either way. */
    if (request->stdin_length > 0)
        sha256_hex(request->stdin_text, request->stdin_length, ret->stdin_sha256);
    sort_lists(ret);
    return true;
}

void rule_inputs_clear(struct rule_inputs *inputs)
{
    json_clear_members(rule_inputs_members, inputs);
    *inputs = (struct rule_inputs){0};
}

static bool same_list(char *const *left, char *const *right)
{
    size_t count = string_list_count(left);
    if (count != string_list_count(right))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(left[i], right[i]) != 0)
            return false;
    return true;
}

static bool same_text(const char *left, const char *right)
{
    return !left || !right ? left == right : strcmp(left, right) == 0;
}

const char *rule_inputs_difference(const struct rule_inputs *left, const struct rule_inputs *right)
{
    if (!same_list(left->args, right->args))
        return "args";
    if (!same_list(left->environment, right->environment))
        return "env";
    if (strcmp(left->stdin_sha256, right->stdin_sha256) != 0)
        return "stdin";
    if (!same_list(left->files, right->files))
        return "files";
    if (!same_text(left->image, right->image))
        return "image";
    return same_list(left->secrets, right->secrets) ? NULL : "secrets";
}
