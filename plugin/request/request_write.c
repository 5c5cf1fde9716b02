/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the members of a request. Pure code; runs in the gateway on the calling thread. */
#include "request/request_members.h"

#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"
#include "json/canonical.h"

/* Takes value; NULL, as of an allocation that failed, is a failure. */
static bool put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *list_json(char *const *strings)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; strings[i]; i++)
        if (json_array_append_new(list, json_string(strings[i])) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

json_t *request_value_language(const struct request *request)
{
    return json_string(request->language->name);
}

json_t *request_value_outputs(const struct request *request)
{
    return list_json(request->outputs);
}

json_t *request_value_tools(const struct request *request)
{
    return list_json(request->tools);
}

json_t *request_value_endpoints(const struct request *request)
{
    return list_json(request->endpoints);
}

json_t *request_value_args(const struct request *request)
{
    return list_json(request->args);
}

json_t *request_value_env(const struct request *request)
{
    return environment_json(request->environment);
}

json_t *request_value_secrets(const struct request *request)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; i < request->secret_count; i++)
        if (!put(object, request->secrets[i].variable,
                 json_sprintf(SECRET_HANDLE_PREFIX "%s" SECRET_HANDLE_SUFFIX,
                              request->secrets[i].name)))
            return NULL;
    return TAKE_POINTER(object);
}

/* Text as text, and bytes that JSON cannot hold in base64. */
static json_t *file_json(const struct request_file *file)
{
    json_auto_t *object = json_pack("{s:s}", "path", file->path);
    if (file->ref)
        return put(object, "ref", json_string(file->ref)) ? TAKE_POINTER(object) : NULL;
    json_t *content = !memchr(file->content, '\0', file->length)
                          ? json_stringn((const char *)file->content, file->length)
                          : NULL;
    if (content)
        return put(object, "content", content) ? TAKE_POINTER(object) : NULL;
    CLEANUP_FREE char *encoded = base64_encode(file->content, file->length);
    bool whole = encoded && put(object, "content", json_string(encoded)) &&
                 put(object, "encoding", json_string(FILE_ENCODING_BASE64));
    return whole ? TAKE_POINTER(object) : NULL;
}

json_t *request_value_files(const struct request *request)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < request->file_count; i++)
        if (json_array_append_new(list, file_json(&request->files[i])) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

void request_write_language(struct json_draft *draft, const char *name,
                            const struct request *request)
{
    json_draft_string(draft, name, request->language->name);
}

void request_write_count(struct json_draft *draft, const char *name, const struct request *request)
{
    if (request->count > 0)
        json_draft_integer(draft, name, (int64_t)request->count);
    else
        json_draft_string(draft, name, NULL);
}

/* strings NULL: an empty list. */
static void write_strings(struct json_draft *draft, const char *name, char *const *strings)
{
    json_draft_open(draft, name, '[');
    for (size_t i = 0; strings && strings[i]; i++)
        json_draft_string(draft, NULL, strings[i]);
    json_draft_close(draft, ']');
}

void request_write_outputs(struct json_draft *draft, const char *name,
                           const struct request *request)
{
    write_strings(draft, name, request->outputs);
}

void request_write_tools(struct json_draft *draft, const char *name, const struct request *request)
{
    write_strings(draft, name, request->tools);
}

void request_write_endpoints(struct json_draft *draft, const char *name,
                             const struct request *request)
{
    write_strings(draft, name, request->endpoints);
}

void request_write_args(struct json_draft *draft, const char *name, const struct request *request)
{
    json_draft_open(draft, name, '[');
    for (size_t i = 0; request->args && request->args[i]; i++)
        json_draft_string(draft, NULL, request->args[i]);
    json_draft_close(draft, ']');
}

void request_write_env(struct json_draft *draft, const char *name, const struct request *request)
{
    json_draft_value(draft, name, environment_json(request->environment));
}

/* NULL when out of memory: an approval never covers only a part of the request. */
json_t *request_secret_names(const struct request *request)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; i < request->secret_count; i++)
        if (json_object_set_new(object, request->secrets[i].variable,
                                json_string(request->secrets[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(object);
}

void request_write_secrets(struct json_draft *draft, const char *name,
                           const struct request *request)
{
    json_draft_value(draft, name, request_secret_names(request));
}

static void write_content(struct json_draft *draft, const struct request_file *file)
{
    CLEANUP_FREE char *content = base64_encode(file->content, file->length);
    if (!content)
        json_draft_value(draft, "content_base64", NULL);
    else
        json_draft_string(draft, "content_base64", content);
}

/* What decides what runs is the content, so a file by reference is hashed as any other. */
static void write_file(struct json_draft *draft, const struct request_file *file,
                       enum request_files_form form)
{
    char hash[SHA256_HEX_LENGTH + 1];
    request_file_hash(file, hash);
    json_draft_open(draft, NULL, '{');
    if (form == REQUEST_FILES_WHOLE && !file->ref)
        write_content(draft, file);
    if (form != REQUEST_FILES_HASHED && file->ref)
        json_draft_string(draft, "name", file->name);
    json_draft_string(draft, "path", file->path);
    if (form != REQUEST_FILES_HASHED && file->ref)
        json_draft_string(draft, "ref", file->ref);
    json_draft_string(draft, "sha256", hash[0] != '\0' ? hash : NULL);
    json_draft_integer(draft, "size", (int64_t)file->length);
    json_draft_close(draft, '}');
}

void request_write_files(struct json_draft *draft, const char *name, const struct request *request,
                         enum request_files_form form)
{
    json_draft_open(draft, name, '[');
    for (size_t i = 0; i < request->file_count; i++)
        write_file(draft, &request->files[i], form);
    json_draft_close(draft, ']');
}

void request_audit_files(struct json_draft *draft, const char *name, const struct request *request)
{
    request_write_files(draft, name, request, REQUEST_FILES_SHOWN);
}

void request_audit_secrets(struct json_draft *draft, const char *name,
                           const struct request *request)
{
    json_draft_open(draft, name, '[');
    for (size_t i = 0; i < request->secret_count; i++)
        json_draft_string(draft, NULL, request->secrets[i].name);
    json_draft_close(draft, ']');
}
