/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the output's members and its schema. Pure code; runs in the gateway on the calling
 * thread. */
#include "result/output_schema.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "protocol/run_event.h"

enum output_type {
    OUTPUT_STRING,
    OUTPUT_INTEGER,
    OUTPUT_BOOLEAN,
    OUTPUT_STRINGS,     /* array of strings */
    OUTPUT_INTEGER_MAP, /* object of integers, any names */
    OUTPUT_OBJECT,      /* members */
    OUTPUT_OPEN,        /* object with any members */
    OUTPUT_OPEN_ARRAY,  /* array of such */
};

struct output_member {
    const char *name; /* NULL ends a list */
    enum output_type type;
    bool nullable;
    const char *const *values;           /* of a string from a closed set, NULL-terminated */
    const struct output_member *members; /* of OUTPUT_OBJECT */
    const char *description;
    bool optional; /* left out where there is nothing to say */
};

static const char *const statuses[] = {
    "completed", /* the program ended by itself, whatever its exit code */
    "timeout",   /* its time was up */
    "killed",    /* a limit, a signal or a forbidden system call ended it */
    "cancelled", /* the host cancelled the call */
    "denied",    /* nothing ran: capability, policy or approver said no */
    "pending",   /* nothing ran yet: the approval request waits for its answer */
    "error",     /* nothing ran, or how it ended is not known: see error */
    NULL,
};

static const char *const causes[] = {
#define X(constant, name) name,
    RUN_CAUSES(X)
#undef X
        NULL};

static const char *const modes[] = {"docker", "process", "none", NULL};

static const struct output_member truncated_members[] = {
    {"stdout", OUTPUT_BOOLEAN, .description = "the middle of stdout was left out"},
    {"stderr", OUTPUT_BOOLEAN, .description = "the middle of stderr was left out"},
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
    {"requested", OUTPUT_STRINGS, .description = "layers that the run asked for"},
    {"applied", OUTPUT_STRINGS, .description = "layers that were in force in this run"},
    {"missing", OUTPUT_STRINGS, .description = "layers that this machine could not provide"},
    {"details", OUTPUT_OPEN, .description = "facts about single layers"},
    {.name = NULL},
};

static const struct output_member approval_members[] = {
    {"decision", OUTPUT_STRING, true, .description = "the decision; null while the request waits"},
    {"id", OUTPUT_STRING, true, .description = "the approval request's id"},
    {"approver", OUTPUT_STRING, true, .description = "the approver, as the host names it"},
    {"edited_from", OUTPUT_STRING, true,
     .description = "where the approver changed the request: the hash of the original request"},
    {"request_sha256", OUTPUT_STRING, true, .description = "the hash the decision is bound to"},
    {.name = NULL},
};

static const struct output_member error_members[] = {
    {"code", OUTPUT_STRING, .description = "one of the manifest's errors"},
    {"message", OUTPUT_STRING, .description = "what exactly went wrong"},
    {"hint", OUTPUT_STRING, .description = "what to do about it"},
    {"retryable", OUTPUT_BOOLEAN, .description = "the identical call may succeed later"},
    {"retry_after_ms", OUTPUT_INTEGER, true,
     .description = "when it may succeed: an estimate from the duration of runs and the length of "
                    "the queue; null where it is unknown"},
    {.name = NULL},
};

static const struct output_member top_members[] = {
    {"status", OUTPUT_STRING, .values = statuses,
     .description = "how the call ended; a non-zero exit code is completed"},
    {"stdout", OUTPUT_STRING, .description = "standard output, with secrets redacted"},
    {"stderr", OUTPUT_STRING, .description = "standard error, with secrets redacted"},
    {"exit_code", OUTPUT_INTEGER, true, .description = "null where the program did not exit"},
    {"signal", OUTPUT_STRING, true, .description = "the signal that ended it, such as SIGKILL"},
    {"timed_out", OUTPUT_BOOLEAN, .description = "the program reached its wall-clock limit"},
    {"truncated", OUTPUT_OBJECT, .members = truncated_members,
     .description = "what was left out of stdout and stderr"},
    {"duration_ms", OUTPUT_INTEGER,
     .description = "duration of the run, without the wait for approval or for its turn"},
    {"queued_ms", OUTPUT_INTEGER,
     .description = "how long it waited for its turn; the program had that much less of its time"},
    {"mode", OUTPUT_STRING, true, .values = modes, .description = "the sandbox it ran in"},
    {"policy_sha256", OUTPUT_STRING, true,
     .description = "the policy that decided the call; null where none was in force"},
    {"run_id", OUTPUT_STRING, true, .description = "the run's id in the audit log"},
    {"traceparent", OUTPUT_STRING, .optional = true,
     .description = "the trace that the call belongs to, where the host named one"},
    {"cause", OUTPUT_STRING, true, .values = causes, .description = "what ended the program"},
    {"usage", OUTPUT_OBJECT, .members = usage_members, .description = "what the run used"},
    {"limits", OUTPUT_INTEGER_MAP, .description = "the limits that were in force, by name"},
    {"isolation", OUTPUT_OBJECT, .members = isolation_members,
     .description = "the isolation that was in force"},
    {"files", OUTPUT_OPEN_ARRAY, .description = "files the program left; empty in this version"},
    {"results", OUTPUT_OPEN_ARRAY, .description = "rich results; empty in this version"},
    {"approval", OUTPUT_OBJECT, true, .members = approval_members,
     .description = "null where no approval was needed"},
    {"notes", OUTPUT_STRINGS,
     .description =
         "corrections that were made to the request, and facts that help to understand the result"},
    {"error", OUTPUT_OBJECT, true, .members = error_members,
     .description = "null where the program ended by itself"},
    {.name = NULL},
};

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
