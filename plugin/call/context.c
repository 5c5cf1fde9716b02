/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the host's context. Runs in the gateway, on the thread inside tool_invoke(). */
#include "call/context.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "policy/policy_parse.h"
#include "request/request.h"
#include "json/json_members.h"

#define CONTEXT_BYTES_LIMIT (4 << 20) /* the schemas of tools are long */
#define CONTEXT_DEPTH_LIMIT 32        /* and deep */
#define CONTEXT_FILES_LIMIT 1024
#define FILE_NAME_LIMIT     255
#define FILE_SIZE_LIMIT     (INT64_C(1) << 50)
#define TRACEPARENT_LIMIT   256u /* bytes; versions after 00 may be longer than its 55 */

#define AT(member)         .offset = offsetof(struct call_context, member)
#define OF_FILE(member)    .offset = offsetof(struct context_file, member)
#define TEXT(name, member) name, &member_text, AT(member), 0, CONTEXT_BYTES_LIMIT, .optional = true

static const struct json_member file_members[] = {
    {"ref", &member_text, OF_FILE(ref), 1, REQUEST_REF_LIMIT, .check = json_check_no_control},
    {"name", &member_text, OF_FILE(name), 1, FILE_NAME_LIMIT, .check = json_check_no_control},
    {"size", &member_uint64, OF_FILE(size), 0, FILE_SIZE_LIMIT},
    {"sha256", &member_text, OF_FILE(sha256), SHA256_HEX_LENGTH, SHA256_HEX_LENGTH,
     .optional = true, .check = policy_check_sha256},
    {0},
};

static const struct json_items file_items = {
    .size = sizeof(struct context_file),
    .count = offsetof(struct call_context, file_count),
    .members = file_members,
};

static bool read_policy(const struct json_place *place, json_t *value, void *object)
{
    struct call_context *context = object;
    return narrowing_read(place, value, &context->narrowing);
}

static bool read_tools(const struct json_place *place, json_t *value, void *object)
{
    struct call_context *context = object;
    return tool_list_read(place, value, &context->tools);
}

static const struct json_member context_members[] = {
    {TEXT("principal", principal)},
    {TEXT("session", session)},
    {TEXT("traceparent", traceparent)},
    {TEXT("workspace", workspace)},
    {"files", &member_list, AT(files), 0, CONTEXT_FILES_LIMIT, .optional = true,
     .items = &file_items},
    {"policy", .optional = true, .read = read_policy},
    {"tools", .optional = true, .read = read_tools},
    {0},
};

bool context_parse(const char *context_json, struct call_context *ret, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = CONTEXT_BYTES_LIMIT,
                                                    .max_depth = CONTEXT_DEPTH_LIMIT};
    if (!context_json)
        return true;
    json_auto_t *json =
        json_input_parse("context", context_json, strnlen(context_json, CONTEXT_BYTES_LIMIT + 1),
                         &limits, ERROR_INVALID_INPUT, error);
    struct json_place root = json_place_root("context", ERROR_INVALID_INPUT, error);
    if (json && json_read_members(&root, json, context_members, ret))
        return true;
    if (json && error->code != ERROR_OUT_OF_MEMORY)
        error_set_hint(error, "this is the gateway's context_json, not the request");
    return false;
}

void context_clear(struct call_context *context)
{
    json_clear_members(context_members, context);
    narrowing_clear(&context->narrowing);
    tool_list_clear(&context->tools);
}

const struct context_file *context_find_file(const struct call_context *context, const char *ref)
{
    for (size_t i = 0; i < context->file_count; i++)
        if (strcmp(context->files[i].ref, ref) == 0)
            return &context->files[i];
    return NULL;
}

/* That many digits and then the end of the field; *next is behind it. */
static bool take_hex(const char **next, size_t digits, bool may_be_zero)
{
    const char *field = *next;
    if (strspn(field, ASCII_LOWER_HEX) != digits)
        return false;
    *next = field + digits;
    return may_be_zero || strspn(field, "0") < digits;
}

static bool take_dash(const char **next)
{
    return *(*next)++ == '-';
}

bool traceparent_is_valid(const char *text)
{
    const char *next = text;
    if (strnlen(text, TRACEPARENT_LIMIT + 1) > TRACEPARENT_LIMIT || strncmp(text, "ff", 2) == 0)
        return false;
    if (!take_hex(&next, 2, true) || !take_dash(&next) || !take_hex(&next, 32, false) ||
        !take_dash(&next) || !take_hex(&next, 16, false) || !take_dash(&next) ||
        !take_hex(&next, 2, true))
        return false;
    return *next == '\0' || (*next == '-' && strncmp(text, "00", 2) != 0);
}
