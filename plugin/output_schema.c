/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the output's members, its schema, and the check. Pure code; runs in the gateway on
 * the calling thread.
 */
#include "output_schema.h"

#include <string.h>

#include "cleanup.h"
#include "json_place.h"
#include "protocol/run_event.h"

static const char *const statuses[] = {
#define X(constant, name, meaning) name,
    RESULT_STATUSES(X)
#undef X
        NULL};

static const char *const causes[] = {
#define X(constant, name) name,
    RUN_CAUSES(X)
#undef X
        NULL};

static const char *const modes[] = {"docker", "process", "none", NULL};

static const struct output_member truncated_members[] = {
    {"stdout", OUTPUT_BOOLEAN, .description = "stdout is not all of it: its middle was left out"},
    {"stderr", OUTPUT_BOOLEAN, .description = "the same for stderr"},
    {"stdout_bytes", OUTPUT_INTEGER, .description = "bytes the program wrote"},
    {"stderr_bytes", OUTPUT_INTEGER, .description = "bytes the program wrote"},
    {.name = NULL},
};

static const struct output_member usage_members[] = {
    {"wall_ms", OUTPUT_INTEGER, .description = "time from start to end"},
    {"user_ms", OUTPUT_INTEGER, true,
     .description = "processor time in the program; null where it cannot be measured"},
    {"system_ms", OUTPUT_INTEGER, true,
     .description = "processor time in the kernel; null where it cannot be measured"},
    {"peak_memory_bytes", OUTPUT_INTEGER, true,
     .description = "of all processes where a cgroup counts it, else of the largest; null where "
                    "it cannot be measured"},
    {"processes", OUTPUT_INTEGER, true,
     .description = "most processes and threads at one time; null where they cannot be counted"},
    {"output_bytes", OUTPUT_INTEGER, .description = "bytes the program printed"},
    {.name = NULL},
};

static const struct output_member isolation_members[] = {
    {"requested", OUTPUT_STRINGS, .description = "layers that were to be applied"},
    {"applied", OUTPUT_STRINGS, .description = "layers that were in force in this run"},
    {"missing", OUTPUT_STRINGS, .description = "layers this machine could not give"},
    {"details", OUTPUT_OPEN, .description = "facts about single layers"},
    {.name = NULL},
};

static const struct output_member approval_members[] = {
    {"decision", OUTPUT_STRING, true, .description = "what was decided, null while it waits"},
    {"id", OUTPUT_STRING, true, .description = "the approval request's"},
    {"approver", OUTPUT_STRING, true, .description = "who decided, as the host names them"},
    {"edited_from", OUTPUT_STRING, true,
     .description = "where the approver changed the request: the hash of the one that was asked "
                    "for"},
    {"request_sha256", OUTPUT_STRING, true, .description = "the hash the decision is bound to"},
    {.name = NULL},
};

static const struct output_member error_members[] = {
    {"code", OUTPUT_STRING, .description = "one of the manifest's errors"},
    {"message", OUTPUT_STRING, .description = "what went wrong, exactly"},
    {"hint", OUTPUT_STRING, .description = "what to do about it"},
    {"retryable", OUTPUT_BOOLEAN, .description = "the identical call may succeed later"},
    {"retry_after_ms", OUTPUT_INTEGER, true,
     .description = "when it may: an estimate from how long runs take and how many calls wait; "
                    "null where nobody can say"},
    {.name = NULL},
};

static const struct output_member top_members[] = {
    {"status", OUTPUT_STRING, .values = statuses,
     .description = "how the call ended; a non-zero exit code is completed"},
    {"stdout", OUTPUT_STRING, .description = "standard output, secrets blotted out"},
    {"stderr", OUTPUT_STRING, .description = "standard error, secrets blotted out"},
    {"exit_code", OUTPUT_INTEGER, true, .description = "null where the program did not exit"},
    {"signal", OUTPUT_STRING, true, .description = "the signal that ended it, such as SIGKILL"},
    {"timed_out", OUTPUT_BOOLEAN, .description = "its wall-clock time was up"},
    {"truncated", OUTPUT_OBJECT, .members = truncated_members,
     .description = "what was left out of stdout and stderr"},
    {"duration_ms", OUTPUT_INTEGER,
     .description = "of the run, without waiting for approval or for its turn"},
    {"queued_ms", OUTPUT_INTEGER,
     .description = "how long it waited for its turn; the program had that much less of its time"},
    {"mode", OUTPUT_STRING, true, .values = modes, .description = "the sandbox it ran in"},
    {"policy_sha256", OUTPUT_STRING, true,
     .description = "the policy it was decided by; null where none was in force"},
    {"run_id", OUTPUT_STRING, true, .description = "the run's name in the audit log"},
    {"traceparent", OUTPUT_STRING, .optional = true,
     .description = "the trace that the call belongs to, where the host named one"},
    {"cause", OUTPUT_STRING, true, .values = causes, .description = "what ended the program"},
    {"usage", OUTPUT_OBJECT, .members = usage_members, .description = "what the run used"},
    {"limits", OUTPUT_INTEGER_MAP, .description = "the limits that were in force, by name"},
    {"isolation", OUTPUT_OBJECT, .members = isolation_members,
     .description = "what really isolated the run"},
    {"files", OUTPUT_OPEN_ARRAY, .description = "files the program left; empty in this version"},
    {"results", OUTPUT_OPEN_ARRAY, .description = "rich results; empty in this version"},
    {"approval", OUTPUT_OBJECT, true, .members = approval_members,
     .description = "null where none was asked for"},
    {"notes", OUTPUT_STRINGS,
     .description = "what was read differently from what was written, "
                    "and what else is good to know"},
    {"error", OUTPUT_OBJECT, true, .members = error_members,
     .description = "null where the program ended by itself"},
    {.name = NULL},
};

const char *result_status_name(enum result_status status)
{
    return statuses[status];
}

const struct output_member *output_members(void)
{
    return top_members;
}

static const char *schema_type(enum output_type type)
{
    switch (type) {
    case OUTPUT_STRING:
        return "string";
    case OUTPUT_INTEGER:
        return "integer";
    case OUTPUT_BOOLEAN:
        return "boolean";
    case OUTPUT_STRINGS:
    case OUTPUT_OPEN_ARRAY:
        return "array";
    case OUTPUT_INTEGER_MAP:
    case OUTPUT_OBJECT:
    case OUTPUT_OPEN:
        break;
    }
    return "object";
}

static json_t *values_schema(const struct output_member *member)
{
    json_auto_t *values = json_array();
    for (const char *const *value = member->values; *value != NULL; value++) {
        if (json_array_append_new(values, json_string(*value)) < 0)
            return NULL;
    }
    if (member->nullable && json_array_append_new(values, json_null()) < 0)
        return NULL;
    return TAKE_POINTER(values);
}

static json_t *members_schema(const struct output_member *members);

/* What type alone does not say. */
static bool add_details(json_t *schema, const struct output_member *member)
{
    if (member->values != NULL)
        return json_object_set_new(schema, "enum", values_schema(member)) == 0;
    if (member->type == OUTPUT_STRINGS)
        return json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string")) == 0;
    if (member->type == OUTPUT_OPEN_ARRAY)
        return json_object_set_new(schema, "items", json_pack("{s:s}", "type", "object")) == 0;
    if (member->type == OUTPUT_INTEGER_MAP)
        return json_object_set_new(schema, "additionalProperties",
                                   json_pack("{s:s}", "type", "integer")) == 0;
    if (member->type == OUTPUT_OBJECT) {
        json_auto_t *inner = members_schema(member->members);
        return inner != NULL && json_object_update(schema, inner) == 0;
    }
    return true;
}

static json_t *member_schema(const struct output_member *member)
{
    const char *type = schema_type(member->type);
    json_auto_t *schema = json_object();
    json_t *types = member->nullable ? json_pack("[ss]", type, "null") : json_string(type);
    if (json_object_set_new(schema, "type", types) < 0 ||
        json_object_set_new(schema, "description", json_string(member->description)) < 0 ||
        !add_details(schema, member))
        return NULL;
    return TAKE_POINTER(schema);
}

/* The part of an object's schema that its members make. */
static json_t *members_schema(const struct output_member *members)
{
    json_auto_t *properties = json_object();
    json_auto_t *required = json_array();
    for (; members->name != NULL; members++) {
        if (json_object_set_new(properties, members->name, member_schema(members)) < 0 ||
            (!members->optional && json_array_append_new(required, json_string(members->name)) < 0))
            return NULL;
    }
    return json_pack("{s:b, s:O, s:O}", "additionalProperties", 0, "required", required,
                     "properties", properties);
}

json_t *output_schema(void)
{
    json_auto_t *schema = members_schema(top_members);
    if (schema == NULL || json_object_set_new(schema, "type", json_string("object")) < 0)
        return NULL;
    return TAKE_POINTER(schema);
}

static bool check_members(const struct json_place *place, const struct output_member *members,
                          json_t *object);

static bool check_value_set(const struct json_place *place, const char *const *values,
                            const char *string)
{
    for (; values != NULL && *values != NULL; values++) {
        if (strcmp(*values, string) == 0)
            return true;
    }
    return values == NULL || json_place_refuse(place, "not in the closed set");
}

static bool check_items(const struct json_place *place, json_t *array, json_type type)
{
    size_t i;
    json_t *item;
    if (!json_read_array(place, array, 0, SIZE_MAX))
        return false;
    json_array_foreach(array, i, item)
    {
        struct json_place item_place = json_place_item(place, i);
        if (json_typeof(item) != type)
            return json_place_refuse(&item_place, "of another type");
    }
    return true;
}

static bool check_integer_map(const struct json_place *place, json_t *object)
{
    const char *name;
    json_t *value;
    if (!json_read_object(place, object))
        return false;
    json_object_foreach(object, name, value)
    {
        struct json_place member = json_place_named(place, name);
        if (!json_is_integer(value))
            return json_place_refuse(&member, "not an integer");
    }
    return true;
}

static bool check_value(const struct json_place *place, const struct output_member *member,
                        json_t *value)
{
    if (member->nullable && json_is_null(value))
        return true;
    switch (member->type) {
    case OUTPUT_STRING:
        return json_is_string(value)
                   ? check_value_set(place, member->values, json_string_value(value))
                   : json_place_refuse(place, "not a string");
    case OUTPUT_INTEGER:
        return json_is_integer(value) || json_place_refuse(place, "not an integer");
    case OUTPUT_BOOLEAN:
        return json_is_boolean(value) || json_place_refuse(place, "not a boolean");
    case OUTPUT_STRINGS:
        return check_items(place, value, JSON_STRING);
    case OUTPUT_OPEN_ARRAY:
        return check_items(place, value, JSON_OBJECT);
    case OUTPUT_INTEGER_MAP:
        return check_integer_map(place, value);
    case OUTPUT_OBJECT:
        return check_members(place, member->members, value);
    case OUTPUT_OPEN:
        return json_read_object(place, value);
    }
    return false;
}

static bool check_members(const struct json_place *place, const struct output_member *members,
                          json_t *object)
{
    size_t count = 0;
    if (!json_read_object(place, object))
        return false;
    for (; members->name != NULL; members++) {
        struct json_place member = json_place_named(place, members->name);
        json_t *value = json_object_get(object, members->name);
        if (value == NULL && members->optional)
            continue;
        if (value == NULL)
            return json_place_refuse(&member, "missing");
        if (!check_value(&member, members, value))
            return false;
        count++;
    }
    return json_object_size(object) == count || json_place_refuse(place, "unknown members");
}

bool output_check(json_t *result, struct error *error)
{
    struct json_place root = json_place_root("result", ERROR_INTERNAL, error);
    return check_members(&root, top_members, result);
}
