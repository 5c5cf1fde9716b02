/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the members of a request that are more than a text, a number or a choice. Pure code; runs
 * in the gateway on the calling thread. */
#include "request/request_members.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/string_list.h"
#include "protocol/run_description.h"
#include "request/request_files.h"
#include "vocabulary/endpoint.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"
#include "vocabulary/pattern.h"
#include "json/json_members.h"

bool request_note(const struct json_place *place, struct request *request, const char *format, ...)
{
    char note[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note, sizeof(note), format, arguments);
    va_end(arguments);
    return json_array_append_new(request->notes, json_string(note)) == 0 ||
           json_place_out_of_memory(place);
}

static bool note_handle(const struct json_place *place, struct request *request, const char *name,
                        const char *text)
{
    if (!strstr(text, SECRET_HANDLE_PREFIX))
        return true;
    return request_note(place, request,
                        SECRET_HANDLE_PREFIX
                        "…" SECRET_HANDLE_SUFFIX
                        " in %s is not replaced: only a whole value of secrets is",
                        name);
}

/* Once for the whole list. */
static bool note_handles(const struct json_place *place, struct request *request, const char *name,
                         char *const *list)
{
    while (*list && !strstr(*list, SECRET_HANDLE_PREFIX))
        list++;
    return !*list || note_handle(place, request, name, *list);
}

static bool refuse_language(const struct json_place *place)
{
    char names[160] = "";
    size_t count;
    const struct language *languages = languages_all(&count);
    struct json_place unknown = *place;
    unknown.code = ERROR_UNKNOWN_LANGUAGE;
    json_place_refuse(&unknown, "unknown language");
    for (size_t i = 0; i < count; i++)
        text_add_name(names, sizeof(names), languages[i].name);
    error_set_hint(place->error, "use one of: %s", names);
    return false;
}

bool request_read_language(const struct json_place *place, json_t *value,
                           const struct request_field *field __attribute__((unused)),
                           struct request *request)
{
    const char *name;
    if (!json_is_string(value))
        return json_place_refuse(place, "must be a string");
    name = json_string_value(value);
    request->language = language_find(name);
    if (!request->language)
        return refuse_language(place);
    /* sandbox.exec's own names for its runtimes are no slip there. */
    if (request->shape == REQUEST_SANDBOX_EXEC || strcmp(name, request->language->name) == 0)
        return true;
    return request_note(place, request, "language \"%s\" was read as \"%s\"", name,
                        request->language->name);
}

static bool is_shell(const struct language *language)
{
    return strcmp(language->name, "sh") == 0 || strcmp(language->name, "bash") == 0 ||
           strcmp(language->name, "zsh") == 0;
}

static bool note_code(const struct json_place *place, struct request *request,
                      const struct code_repair *repair)
{
    if (repair->byte_order_mark &&
        !request_note(place, request, "a byte order mark was removed from code"))
        return false;
    if (repair->fence &&
        !request_note(place, request, "the Markdown fence around code was removed"))
        return false;
    if (is_shell(request->language) && strstr(request->code, "\r\n") &&
        !request_note(place, request,
                      "code has CRLF line endings, which a shell treats as part of words; they "
                      "were not changed"))
        return false;
    return note_handle(place, request, "code", request->code);
}

bool request_read_code(const struct json_place *place, json_t *value,
                       const struct request_field *field, struct request *request)
{
    const char *text;
    if (!json_read_string(place, value, 1, field->limit, &text))
        return false;
    struct code_repair repair = code_repair_find(text, strlen(text));
    if (repair.length == 0)
        return json_place_refuse(place, "must not be empty");
    request->code = copy_bytes(repair.code, repair.length);
    if (!request->code)
        return json_place_out_of_memory(place);
    request->code_length = repair.length;
    return note_code(place, request, &repair);
}

static bool read_text(const struct json_place *place, const json_t *value, size_t minimum,
                      size_t limit, char **ret)
{
    const char *text;
    if (!json_read_string(place, value, minimum, limit, &text))
        return false;
    *ret = copy_bytes(text, strlen(text));
    return *ret || json_place_out_of_memory(place);
}

bool request_read_stdin(const struct json_place *place, json_t *value,
                        const struct request_field *field, struct request *request)
{
    if (!read_text(place, value, 0, field->limit, &request->stdin_text))
        return false;
    request->stdin_length = strlen(request->stdin_text);
    return note_handle(place, request, "stdin", request->stdin_text);
}

/* The matcher takes any text; these would match no file. */
static bool check_pattern(const struct json_place *place, const char *pattern)
{
    return path_stays_below(pattern) ||
           json_place_refuse(place, "must be relative, without an empty, \".\" or \"..\" part");
}

/* A list of texts in the place of *ret. */
static bool read_list(const struct json_place *place, json_t *value, size_t most,
                      size_t bytes_limit, json_text_check *check, char ***ret)
{
    if (!json_read_array(place, value, 0, most))
        return false;
    CLEANUP(cleanup_string_list) char **list = string_list_new(json_array_size(value));
    if (!list)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item_place = json_place_item(place, i);
        if (!read_text(&item_place, json_array_get(value, i), 1, bytes_limit, &list[i]) ||
            !check(&item_place, list[i]))
            return false;
    }
    string_list_free(*ret);
    *ret = TAKE_POINTER(list);
    return true;
}

bool request_read_outputs(const struct json_place *place, json_t *value,
                          const struct request_field *field, struct request *request)
{
    return read_list(place, value, field->limit, OUTPUT_PATTERN_BYTES_LIMIT, check_pattern,
                     &request->outputs);
}

static bool check_tool_pattern(const struct json_place *place, const char *pattern)
{
    return name_pattern_valid(pattern) ||
           json_place_refuse(place, "must be a tool's name, or the beginning of one and \"*\"");
}

bool request_read_tools(const struct json_place *place, json_t *value,
                        const struct request_field *field, struct request *request)
{
    return read_list(place, value, field->limit, TOOL_NAME_LIMIT, check_tool_pattern,
                     &request->tools);
}

static bool check_endpoint(const struct json_place *place, const char *name)
{
    return endpoint_name_valid(name) ||
           json_place_refuse(place,
                             "must be an endpoint's name: a-z, 0-9 and \"-\", a letter first");
}

bool request_read_endpoints(const struct json_place *place, json_t *value,
                            const struct request_field *field, struct request *request)
{
    if (!read_list(place, value, field->limit, ENDPOINT_NAME_LIMIT, check_endpoint,
                   &request->endpoints))
        return false;
    for (size_t i = 0; request->endpoints[i]; i++) {
        struct json_place item = json_place_item(place, i);
        if (string_list_contains(request->endpoints + i + 1, request->endpoints[i]))
            return json_place_refuse(&item, "is named twice");
    }
    return true;
}

bool request_read_packages(const struct json_place *place, json_t *value,
                           const struct request_field *field, struct request *request)
{
    const char *name;
    if (!json_read_string(place, value, 1, field->limit, &name))
        return false;
    if (!endpoint_name_valid(name))
        return json_place_refuse(place, "must be an environment's name: a-z, 0-9 and \"-\", a "
                                        "letter first");
    return json_copy_text(place, name, &request->packages);
}

bool request_read_args(const struct json_place *place, json_t *value,
                       const struct request_field *field, struct request *request)
{
    size_t i;
    json_t *item;

    if (!json_read_array(place, value, 0, field->limit))
        return false;
    string_list_free(request->args);
    request->args = string_list_new(json_array_size(value));
    if (!request->args)
        return json_place_out_of_memory(place);
    json_array_foreach(value, i, item)
    {
        struct json_place item_place = json_place_item(place, i);
        if (!read_text(&item_place, item, 0, REQUEST_STRING_LIMIT, &request->args[i]))
            return false;
    }
    return note_handles(place, request, "args", request->args);
}

bool request_read_env(const struct json_place *place, json_t *value,
                      const struct request_field *field, struct request *request)
{
    char **environment;
    if (!environment_read(place, value, field->limit, REQUEST_STRING_LIMIT, &environment))
        return false;
    string_list_free(request->environment);
    request->environment = environment;
    return note_handles(place, request, "env", environment);
}

static bool read_secret(const struct json_place *place, const char *variable, size_t length,
                        const json_t *value, struct request_secret *ret)
{
    const char *name;
    size_t name_length;
    if (!environment_name_valid(variable, length))
        return json_place_refuse(place, "not a variable's name: letters, digits and _, at most %d",
                                 ENVIRONMENT_NAME_LIMIT);
    if (!json_is_string(value) || !handle_parse(json_string_value(value), &name, &name_length))
        return json_place_refuse(place, "must be a handle, \"" SECRET_HANDLE_PREFIX
                                        "NAME" SECRET_HANDLE_SUFFIX "\", and nothing else");
    ret->variable = copy_bytes(variable, length);
    ret->name = copy_bytes(name, name_length);
    return (ret->variable && ret->name) || json_place_out_of_memory(place);
}

static int compare_secrets(const void *left, const void *right)
{
    const struct request_secret *a = left;
    const struct request_secret *b = right;
    return strcmp(a->variable, b->variable);
}

bool request_read_secrets(const struct json_place *place, json_t *value,
                          const struct request_field *field, struct request *request)
{
    const char *variable;
    size_t length;
    json_t *handle;

    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > field->limit)
        return json_place_refuse(place, "must have at most %zu members", field->limit);
    request->secrets = calloc(json_object_size(value) + 1, sizeof(*request->secrets));
    if (!request->secrets)
        return json_place_out_of_memory(place);
    json_object_keylen_foreach(value, variable, length, handle)
    {
        struct json_place member = json_place_member(place, variable, length);
        request->secret_count++; /* first: a half-read one is request_clear()'s as well */
        if (!read_secret(&member, variable, length, handle,
                         &request->secrets[request->secret_count - 1]))
            return false;
        if (environment_has(request->environment, variable))
            return json_place_refuse(&member, "the variable is in env as well");
    }
    qsort(request->secrets, request->secret_count, sizeof(*request->secrets), compare_secrets);
    return true;
}

bool request_read_image(const struct json_place *place, json_t *value,
                        const struct request_field *field, struct request *request)
{
    return read_text(place, value, 1, field->limit, &request->image) &&
           json_check_printable(place, request->image);
}

bool request_read_session(const struct json_place *place, json_t *value,
                          const struct request_field *field, struct request *request)
{
    if (!read_text(place, value, 1, field->limit, &request->session))
        return false;
    return handle_name_valid(request->session, strlen(request->session)) ||
           json_place_refuse(place, "must be letters, digits, \".\", \"_\" and \"-\", and begin "
                                    "with a letter or digit");
}

bool request_read_session_action(const struct json_place *place, json_t *value,
                                 const struct request_field *field, struct request *request)
{
    if (!read_text(place, value, 1, field->limit, &request->session_action))
        return false;
    return strcmp(request->session_action, REQUEST_SESSION_KEEP) == 0 ||
           strcmp(request->session_action, REQUEST_SESSION_END) == 0 ||
           strcmp(request->session_action, REQUEST_SESSION_UNDO) == 0 ||
           strcmp(request->session_action, REQUEST_SESSION_FORK) == 0 ||
           json_place_refuse(place, "must be \"keep\", \"end\", \"undo\" or \"fork\"");
}

bool request_read_files(const struct json_place *place, json_t *value,
                        const struct request_field *field, struct request *request)
{
    return request_files_read(place, value, field->limit, &request->files, &request->file_count);
}
