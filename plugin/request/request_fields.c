/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the request's members. The descriptions are read by models: few words, every limit.
 * Constant data; runs in the gateway on any thread.
 */
#include "request/request_fields.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "request/request_members.h"
#include "vocabulary/endpoint.h"

#define HELD(member) .offset = offsetof(struct request, member)

/* Secrets are read behind env: no variable may be in both. */
static const struct request_field fields[] = {
    {.name = "language",
     .alias = "runtime",
     .kind = REQUEST_FIELD_LANGUAGE,
     HELD(language),
     .required = true,
     .description = "Language of the code.",
     .read = request_read_language,
     .value = request_value_language,
     .write = request_write_language,
     .audited = "the language of the code",
     .examples = {"\"python\"", "\"bash\""},
     .hashed_as = "language"},
    {.name = "code",
     .kind = REQUEST_FIELD_STRING,
     HELD(code),
     .required = true,
     .limit = REQUEST_CODE_LIMIT,
     .description = "The whole program as plain text, without Markdown fences. Print what you "
                    "want to see: stdout, stderr and new files come back. At most 1 MiB.",
     .read = request_read_code,
     .examples = {"\"print(1)\"", "\"print(2)\""},
     .hashed_as = "code",
     .differs_by_cell = true},
    {.name = "stdin",
     .kind = REQUEST_FIELD_STRING,
     HELD(stdin_text),
     .limit = REQUEST_STDIN_LIMIT,
     .description = "Text for the program's standard input. At most 1 MiB.",
     .read = request_read_stdin,
     .examples = {"\"\"", "\"in\""},
     .hashed_as = "stdin",
     .differs_by_cell = true},
    {.name = "args",
     .kind = REQUEST_FIELD_STRINGS,
     HELD(args),
     .limit = REQUEST_ARGS_LIMIT,
     .description = "Command-line arguments after the program's name. At most 32 KiB each.",
     .read = request_read_args,
     .value = request_value_args,
     .write = request_write_args,
     .examples = {"[\"\"]", "[\"a\", \"\"]"},
     .hashed_as = "args",
     .differs_by_cell = true},
    {.name = "env",
     .kind = REQUEST_FIELD_ENVIRONMENT,
     HELD(environment),
     .limit = REQUEST_ENVIRONMENT_LIMIT,
     .description = "Environment variables, name to value. At most 128; names of "
                    "letters, digits and _. Not for credentials.",
     .read = request_read_env,
     .value = request_value_env,
     .write = request_write_env,
     .examples = {"{\"A\": \"\"}", "{\"A\": \"1\", \"_b2\": \"\"}"},
     .hashed_as = "environment",
     .differs_by_cell = true},
    {.name = "secrets",
     .kind = REQUEST_FIELD_SECRETS,
     HELD(secrets),
     .limit = REQUEST_SECRETS_LIMIT,
     .capability = CAPABILITY_SECRETS,
     .description = "For credentials: environment variables that get a secret, variable name to "
                    "handle, such as {\"API_KEY\": \"{{secret:my-api-key}}\"}. At most 32. The "
                    "program reads the value from the variable; it is redacted from the output. A "
                    "session gets them with its first cell, for all its cells.",
     .read = request_read_secrets,
     .value = request_value_secrets,
     .write = request_write_secrets,
     .audited = "their names",
     .audit = request_audit_secrets,
     .examples = {"{\"KEY\": \"{{secret:one}}\"}", "{\"KEY\": \"{{secret:my-api-key}}\"}"},
     .hashed_as = "secrets"},
    {.name = "files",
     .kind = REQUEST_FIELD_FILES,
     HELD(files),
     .limit = REQUEST_FILES_LIMIT,
     .capability = CAPABILITY_FILES,
     .description = "Files to put into the working directory before the program starts, each with "
                    "its content or the ref of a file that you were offered.",
     .read = request_read_files,
     .value = request_value_files,
     .write_form = request_write_files,
     .audited = "their paths, sizes and hashes",
     .audit = request_audit_files,
     .examples =
         {"[{\"path\": \"a\", \"content\": \"1\"}]",
          "[{\"path\": \"a/b.txt\", \"content\": \"x\"}, {\"path\": \"c\", \"content\": \"AAEC\", "
          "\"encoding\": \"base64\"}, {\"path\": \"d\", \"content\": \"\", \"encoding\": null}]"},
     .hashed_as = "files",
     .differs_by_cell = true},
    {.name = "outputs",
     .kind = REQUEST_FIELD_STRINGS,
     HELD(outputs),
     .limit = REQUEST_OUTPUTS_LIMIT,
     .description =
         "Files of the working directory to return once the program has ended, as patterns of "
         "relative paths such as \"*.csv\" or \"out/**\". * and ? stay within a directory, ** "
         "is any number of directories. Left out: every file that is new or changed.",
     .read = request_read_outputs,
     .value = request_value_outputs,
     .write = request_write_outputs,
     .examples = {"[\"*.csv\"]", "[\"out/**\", \"[a-c]?.txt\"]"},
     .hashed_as = "outputs",
     .differs_by_cell = true},
    {.name = "timeout_ms",
     .kind = REQUEST_FIELD_INTEGER,
     HELD(timeout_ms),
     .minimum = 1,
     .maximum = REQUEST_TIMEOUT_LIMIT,
     .capability = CAPABILITY_LIMITS_EXTENDED,
     .policy_limit = "wall_ms",
     .unit = "ms",
     .offer = "Wall-clock time for the run in milliseconds",
     .description = "Wall-clock time for the run in milliseconds. The operator's default (usually "
                    "10000) and ceiling (usually 300000) apply.",
     .examples = {"1000", "5000"},
     .hashed_as = "limits"},
    {.name = "memory_bytes",
     .kind = REQUEST_FIELD_INTEGER,
     HELD(memory_bytes),
     .minimum = REQUEST_MEMORY_LEAST,
     .maximum = REQUEST_MEMORY_LIMIT,
     .capability = CAPABILITY_LIMITS_EXTENDED,
     .policy_limit = "memory_bytes",
     .unit = "bytes",
     .offer = "Memory for the run in bytes",
     .description = "Memory for the run in bytes. The operator's default (usually 268435456) and "
                    "ceiling (usually 1073741824) apply.",
     .examples = {"67108864", "536870912"},
     .hashed_as = "limits"},
    {.name = "network",
     .kind = REQUEST_FIELD_BOOLEAN,
     HELD(network),
     .capability = CAPABILITY_NETWORK,
     .description = "true asks for network access. Usually not granted: leave it "
                    "out unless the task needs it.",
     .audited = "whether it was asked for",
     .examples = {"true"},
     .hashed_as = "network"},
    {.name = "endpoints",
     .kind = REQUEST_FIELD_STRINGS,
     HELD(endpoints),
     .limit = REQUEST_ENDPOINTS_LIMIT,
     .capability = CAPABILITY_ENDPOINTS,
     .description =
         "Names of the operator's endpoints that the program may call, such as [\"github\"]. The "
         "environment variable CODE_EXECUTE_ENDPOINT_GITHUB has a base URL for plain HTTP; paths "
         "go behind it. Send no credentials: they are added outside. In a session name all that "
         "its cells need in the first one, and in each cell those that it needs. At most 16.",
     .read = request_read_endpoints,
     .value = request_value_endpoints,
     .write = request_write_endpoints,
     .audited = "their names",
     .examples = {"[\"github\"]", "[\"pypi-files\", \"github\"]"},
     .hashed_as = "endpoints"},
    {.name = "packages",
     .kind = REQUEST_FIELD_STRING,
     HELD(packages),
     .limit = ENDPOINT_NAME_LIMIT,
     .capability = CAPABILITY_EXEC,
     .description =
         "One of the operator's sets of packages, such as \"data\": the program can import them. "
         "Nothing can be installed during a run. A later cell of a session that leaves this out "
         "has those of its first cell.",
     .read = request_read_packages,
     .examples = {"\"data\"", "\"data-2\""},
     .hashed_as = "packages"},
    {.name = "image",
     .kind = REQUEST_FIELD_STRING,
     HELD(image),
     .limit = REQUEST_IMAGE_LIMIT,
     .capability = CAPABILITY_IMAGE,
     .description = "One of the operator's images. Leave it out for the language's own.",
     .read = request_read_image,
     .examples = {"\"python:3.11-slim\"", "\"python:3.12-slim\""},
     .hashed_as = "image"},
    {.name = "session",
     .kind = REQUEST_FIELD_STRING,
     HELD(session),
     .limit = REQUEST_SESSION_LIMIT,
     .capability = CAPABILITY_SESSION,
     .description =
         "\"new\" for an interpreter that is kept, then session.id of the result for the "
         "next cell in it: variables and files are still there. Left out: every call "
         "starts fresh.",
     .read = request_read_session,
     .examples = {"\"new\"", "\"s_0\""},
     .hashed_as = "session_history"},
    {.name = "session_action",
     .kind = REQUEST_FIELD_STRING,
     HELD(session_action),
     .limit = REQUEST_SESSION_LIMIT,
     .capability = CAPABILITY_SESSION,
     .description =
         "\"end\": the session ends with this cell. \"undo\": it goes back to before its "
         "last cell, or the last count of them, and then executes this one. \"fork\": this cell is "
         "the first one of a copy of the session, whose id the result has; both go on separately. "
         "Left out, or \"keep\": it stays.",
     .read = request_read_session_action,
     .audited = "whether the session is to end or to be copied, or its last cell to be undone",
     .examples = {"\"keep\"", "\"end\""},
     .hashed_as = "session_action",
     .differs_by_cell = true},
    {.name = "count",
     .kind = REQUEST_FIELD_INTEGER,
     HELD(count),
     .minimum = 1,
     .maximum = REQUEST_COUNT_LIMIT,
     .capability = CAPABILITY_SESSION,
     .description = "With \"undo\": how many of the session's last cells, at most "
                    "session.undoable of the last result. Left out: one.",
     .write = request_write_count,
     .audited = "how many of its last cells are to be undone",
     .examples = {"1", "8"},
     .hashed_as = "count",
     .differs_by_cell = true},
    {.name = "tools",
     .kind = REQUEST_FIELD_STRINGS,
     HELD(tools),
     .limit = REQUEST_TOOLS_LIMIT,
     .capability = CAPABILITY_TOOLS,
     .description =
         "Tools that the program may call: names, or beginnings of names with * behind. Python: "
         "import tools; tools.NAME(argument=value) returns the result or raises tools.ToolError. "
         "JavaScript: await tools.NAME({argument: value}). sh, bash: tool NAME '{\"argument\": "
         "1}'. "
         "Call them in a loop and print only what you need. A later cell of a session that leaves "
         "this out has those of its first cell.",
     .read = request_read_tools,
     .value = request_value_tools,
     .write = request_write_tools,
     .audited = "which ones were asked for",
     .examples = {"[\"query_database\"]", "[\"jira.*\", \"query_database\"]"},
     .hashed_as = "tools"},
    {.name = "reason",
     .kind = REQUEST_FIELD_STRING,
     HELD(reason),
     .limit = REQUEST_STRING_LIMIT,
     .description = "One sentence for the person who approves the run: what the "
                    "code does and why.",
     .examples = {"\"because\"", "\"why not\""},
     .not_hashed = "the words of the model about its code, which decide nothing that runs"},
};
static_assert(COUNT_OF(fields) <= REQUEST_FIELDS_LIMIT, "REQUEST_FIELDS_LIMIT");

const struct request_field *request_fields(size_t *ret_count)
{
    *ret_count = COUNT_OF(fields);
    return fields;
}

static bool is_name(const char *candidate, const char *name, size_t length)
{
    return candidate && strlen(candidate) == length && memcmp(candidate, name, length) == 0;
}

const struct request_field *request_field_find(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (is_name(fields[i].name, name, length) || is_name(fields[i].alias, name, length))
            return &fields[i];
    }
    return NULL;
}

const struct request_field *request_field_of_limit(const char *limit)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].policy_limit && strcmp(fields[i].policy_limit, limit) == 0)
            return &fields[i];
    return NULL;
}

static const void *held(const struct request_field *field, const struct request *request)
{
    return (const char *)request + field->offset;
}

bool request_field_is_given(const struct request_field *field, const struct request *request)
{
    const void *member = held(field, request);
    char *const *list;
    switch (field->kind) {
    case REQUEST_FIELD_LANGUAGE:
        return request->language;
    case REQUEST_FIELD_STRING:
        return *(char *const *)member;
    case REQUEST_FIELD_STRINGS:
    case REQUEST_FIELD_ENVIRONMENT:
        list = *(char *const *const *)member;
        return list && list[0];
    case REQUEST_FIELD_SECRETS:
        return request->secret_count > 0;
    case REQUEST_FIELD_FILES:
        return request->file_count > 0;
    case REQUEST_FIELD_INTEGER:
        return *(const uint64_t *)member > 0;
    case REQUEST_FIELD_BOOLEAN:
        return *(const bool *)member;
    }
    return false;
}

uint64_t request_field_number(const struct request_field *field, const struct request *request)
{
    assert(field->kind == REQUEST_FIELD_INTEGER);
    return *(const uint64_t *)held(field, request);
}

static bool read_text(const struct json_place *place, json_t *value, size_t limit, char **ret)
{
    const char *text;
    if (!json_read_string(place, value, 0, limit, &text))
        return false;
    *ret = copy_bytes(text, strlen(text));
    return *ret || json_place_out_of_memory(place);
}

static bool read_number(const struct json_place *place, json_t *value,
                        const struct request_field *field, uint64_t *ret)
{
    int64_t number;
    if (!json_read_integer(place, value, field->minimum, field->maximum, &number))
        return false;
    *ret = (uint64_t)number;
    return true;
}

bool request_field_read(const struct request_field *field, const struct json_place *place,
                        json_t *value, struct request *request)
{
    void *member = (char *)request + field->offset;
    if (field->read)
        return field->read(place, value, field, request);
    if (field->kind == REQUEST_FIELD_STRING)
        return read_text(place, value, field->limit, member);
    if (field->kind == REQUEST_FIELD_INTEGER)
        return read_number(place, value, field, member);
    assert(field->kind == REQUEST_FIELD_BOOLEAN);
    return json_read_boolean(place, value, member);
}

/* The member as a request would have it, new; NULL: out of memory. The request has it. */
static json_t *value_of(const struct request_field *field, const struct request *request)
{
    const void *member = held(field, request);
    if (field->value)
        return field->value(request);
    if (field->kind == REQUEST_FIELD_STRING)
        return json_string(*(char *const *)member);
    if (field->kind == REQUEST_FIELD_INTEGER)
        return json_integer((json_int_t) * (const uint64_t *)member);
    assert(field->kind == REQUEST_FIELD_BOOLEAN);
    return json_boolean(*(const bool *)member);
}

static void write_by_kind(const struct request_field *field, struct json_draft *draft,
                          const char *name, const struct request *request)
{
    const void *member = held(field, request);
    if (field->kind == REQUEST_FIELD_STRING)
        json_draft_string(draft, name, *(char *const *)member);
    else if (field->kind == REQUEST_FIELD_INTEGER)
        json_draft_integer(draft, name, (int64_t) * (const uint64_t *)member);
    else
        json_draft_boolean(draft, name, *(const bool *)member);
}

void request_field_write(const struct request_field *field, struct json_draft *draft,
                         const struct request *request, enum request_files_form files)
{
    if (field->write_form)
        field->write_form(draft, field->hashed_as, request, files);
    else if (field->write)
        field->write(draft, field->hashed_as, request);
    else
        write_by_kind(field, draft, field->hashed_as, request);
}

void request_fields_audit(struct json_draft *draft, const struct request *request)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct request_field *field = &fields[i];
        if (field->audit)
            field->audit(draft, field->name, request);
        else if (field->audited && field->write)
            field->write(draft, field->name, request);
        else if (field->audited)
            write_by_kind(field, draft, field->name, request);
    }
}

json_t *request_arguments(const struct request *request)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (request_field_is_given(&fields[i], request) &&
            json_object_set_new(object, fields[i].name, value_of(&fields[i], request)) != 0)
            return NULL;
    return TAKE_POINTER(object);
}
