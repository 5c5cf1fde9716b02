/* SPDX-License-Identifier: Apache-2.0 */
/* A request back as arguments. Runs in the gateway on the thread inside tool_invoke(). */
#include "request_arguments.h"

#include <stdbool.h>
#include <string.h>

#include "base64.h"
#include "cleanup.h"
#include "environment.h"
#include "handle.h"
#include "request_fields.h"
#include "utf8.h"

/* Takes value; NULL, as of an allocation that failed, is a failure. */
static bool put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *list_json(char *const *strings)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; strings[i] != NULL; i++)
        if (json_array_append_new(list, json_string(strings[i])) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

static json_t *secrets_json(const struct request *request)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; i < request->secret_count; i++)
        if (!put(object, request->secrets[i].variable,
                 json_sprintf(SECRET_HANDLE_PREFIX "%s" SECRET_HANDLE_SUFFIX,
                              request->secrets[i].name)))
            return NULL;
    return TAKE_POINTER(object);
}

/* Text as text, and what JSON cannot hold in base64. */
static json_t *file_json(const struct run_file *file)
{
    json_auto_t *object = json_pack("{s:s}", "path", file->path);
    json_t *content = memchr(file->content, '\0', file->length) == NULL
                          ? json_stringn((const char *)file->content, file->length)
                          : NULL;
    if (content != NULL)
        return put(object, "content", content) ? TAKE_POINTER(object) : NULL;
    CLEANUP_FREE char *encoded = base64_encode(file->content, file->length);
    bool whole = encoded != NULL && put(object, "content", json_string(encoded)) &&
                 put(object, "encoding", json_string(FILE_ENCODING_BASE64));
    return whole ? TAKE_POINTER(object) : NULL;
}

static json_t *files_json(const struct request *request)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < request->file_count; i++)
        if (json_array_append_new(list, file_json(&request->files[i])) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

static bool put_text(json_t *object, const char *name, const char *text)
{
    return text == NULL || put(object, name, json_string(text));
}

static bool put_lists(json_t *object, const struct request *request)
{
    return (request->args[0] == NULL || put(object, "args", list_json(request->args))) &&
           (request->environment[0] == NULL ||
            put(object, "env", environment_json(request->environment))) &&
           (request->secret_count == 0 || put(object, "secrets", secrets_json(request))) &&
           (request->file_count == 0 || put(object, "files", files_json(request)));
}

static bool put_choices(json_t *object, const struct request *request)
{
    return (request->timeout_ms == 0 ||
            put(object, "timeout_ms", json_integer((json_int_t)request->timeout_ms))) &&
           (!request->network || put(object, "network", json_true())) &&
           put_text(object, "image", request->image) &&
           put_text(object, "session", request->session) &&
           put_text(object, "reason", request->reason);
}

json_t *request_arguments(const struct request *request)
{
    json_auto_t *object = json_object();
    bool whole = put_text(object, "language", request->language->name) &&
                 put(object, "code", json_stringn(request->code, request->code_length)) &&
                 (request->stdin_text == NULL ||
                  put(object, "stdin", json_stringn(request->stdin_text, request->stdin_length))) &&
                 put_lists(object, request) && put_choices(object, request);
    return whole ? TAKE_POINTER(object) : NULL;
}
