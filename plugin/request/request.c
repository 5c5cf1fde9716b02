/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a request. Makes the one copy of the model's JSON that later stages read. Pure code; runs
 * in the gateway on the calling thread.
 */
#include "request/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "request/request_fields.h"
#include "request/request_files.h"
#include "request/request_members.h"
#include "json/json_input.h"
#include "json/json_place.h"

#define MEMBERS_HINT "the members are: "

static bool refuse_unknown_member(const struct json_place *place)
{
    char names[256] = "";
    size_t count;
    const struct request_field *fields = request_fields(&count);
    for (size_t i = 0; i < count; i++)
        text_add_name(names, sizeof(names), fields[i].name);
    json_place_refuse(place, "unknown member");
    error_set_hint(place->error, MEMBERS_HINT "%s", names);
    return false;
}

bool request_lists_members(const char *hint)
{
    return strncmp(hint, MEMBERS_HINT, strlen(MEMBERS_HINT)) == 0;
}

/* Every name is a field's, and no field is named twice. null counts as not there. */
static bool check_names(const struct json_place *root, json_t *object)
{
    const struct request_field *seen[REQUEST_FIELDS_LIMIT] = {NULL};
    size_t count;
    const struct request_field *fields = request_fields(&count);
    const char *name;
    size_t length;
    json_t *value;

    json_object_keylen_foreach(object, name, length, value)
    {
        struct json_place place = json_place_member(root, name, length);
        const struct request_field *field = request_field_find(name, length);
        if (!field)
            return refuse_unknown_member(&place);
        if (json_is_null(value))
            continue;
        if (seen[field - fields])
            return json_place_refuse(&place, "\"%s\" and \"%s\" are the same member", field->name,
                                     field->alias);
        seen[field - fields] = field;
    }
    return true;
}

/* The field's value under the name it was given by; NULL where absent or null. */
static json_t *find_value(json_t *object, const struct request_field *field, const char **ret_name)
{
    json_t *value = json_object_get(object, field->name);
    *ret_name = field->name;
    if ((!value || json_is_null(value)) && field->alias) {
        json_t *alias_value = json_object_get(object, field->alias);
        if (alias_value && !json_is_null(alias_value)) {
            *ret_name = field->alias;
            return alias_value;
        }
    }
    return json_is_null(value) ? NULL : value;
}

static bool note_alias(const struct json_place *place, const struct request_field *field,
                       const char *name, struct request *request)
{
    if (request->shape == REQUEST_SANDBOX_EXEC || name == field->name)
        return true;
    return request_note(place, request, "\"%s\" was read as \"%s\"", name, field->name);
}

static bool read_fields(const struct json_place *root, json_t *object, struct request *request)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);

    if (!check_names(root, object))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name;
        json_t *value = find_value(object, &fields[i], &name);
        struct json_place place = json_place_named(root, name);
        if (!value && fields[i].required)
            return json_place_refuse(&place, "missing");
        if (!value)
            continue;
        if (!note_alias(&place, &fields[i], name, request) ||
            !request_field_read(&fields[i], &place, value, request))
            return false;
    }
    return true;
}

bool request_parse(enum request_shape shape, const char *input_json, size_t length,
                   struct request *ret, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = REQUEST_BYTES_LIMIT,
                                                    .max_depth = REQUEST_DEPTH_LIMIT};
    struct json_place root = json_place_root("request", ERROR_INVALID_INPUT, error);

    json_auto_t *object =
        json_input_parse("request", input_json, length, &limits, ERROR_INVALID_INPUT, error);
    if (!object)
        return false;
    CLEANUP(request_clear)
    struct request request = {.shape = shape,
                              .args = string_list_new(0),
                              .environment = string_list_new(0),
                              .notes = json_array()};
    if (!request.args || !request.environment || !request.notes)
        return json_place_out_of_memory(&root);
    if (!read_fields(&root, object, &request))
        return false;
    *ret = request;
    request = (struct request){0};
    return true;
}

void request_clear(struct request *request)
{
    free(request->code);
    free(request->stdin_text);
    string_list_free(request->args);
    string_list_free(request->outputs);
    string_list_free(request->tools);
    string_list_free(request->endpoints);
    free(request->packages);
    string_list_free(request->environment);
    for (size_t i = 0; i < request->secret_count; i++) {
        free(request->secrets[i].variable);
        free(request->secrets[i].name);
    }
    free(request->secrets);
    request_files_free(request->files, request->file_count);
    free(request->image);
    free(request->session);
    free(request->session_action);
    free(request->reason);
    json_decref(request->notes);
    *request = (struct request){0};
}
