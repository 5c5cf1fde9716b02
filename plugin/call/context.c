/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the host's context. Runs in the gateway, on the thread inside tool_invoke(). */
#include "call/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/json_input.h"
#include "json/json_place.h"

#define CONTEXT_BYTES_LIMIT 65536
#define CONTEXT_DEPTH_LIMIT 8
#define TRACEPARENT_LIMIT   256u /* bytes; versions after 00 may be longer than its 55 */

static bool copy_text(const char *text, char **ret)
{
    if (!text)
        return true;
    *ret = strdup(text);
    return *ret != NULL;
}

static bool refuse_context(struct error *error)
{
    error_set_hint(error, "this is the gateway's context_json, not the request");
    return false;
}

static bool read_policy(json_t *policy, struct narrowing *ret, struct error *error)
{
    struct json_place root = json_place_root("context", ERROR_INVALID_INPUT, error);
    struct json_place place = json_place_named(&root, "policy");
    if (!policy || narrowing_read(&place, policy, ret))
        return true;
    if (error->code != ERROR_OUT_OF_MEMORY)
        (void)refuse_context(error);
    return false;
}

bool context_parse(const char *context_json, struct call_context *ret, struct error *error)
{
    static const struct json_input_limits limits = {CONTEXT_BYTES_LIMIT, CONTEXT_DEPTH_LIMIT};
    static const char *const members[] = {"principal", "session", "traceparent",
                                          "workspace", "policy",  NULL};
    if (!context_json)
        return true;
    json_auto_t *json =
        json_input_parse("context", context_json, strnlen(context_json, CONTEXT_BYTES_LIMIT + 1),
                         &limits, ERROR_INVALID_INPUT, error);
    if (!json)
        return false;
    const char *principal = NULL;
    const char *session = NULL;
    const char *traceparent = NULL;
    const char *workspace = NULL;
    struct json_place root = json_place_root("context", ERROR_INVALID_INPUT, error);
    if (!json_read_known_members(&root, json, members) ||
        !json_read_member_string(&root, json, "principal", &principal) ||
        !json_read_member_string(&root, json, "session", &session) ||
        !json_read_member_string(&root, json, "traceparent", &traceparent) ||
        !json_read_member_string(&root, json, "workspace", &workspace))
        return refuse_context(error);
    if (!read_policy(json_object_get(json, "policy"), &ret->narrowing, error))
        return false;
    if (copy_text(principal, &ret->principal) && copy_text(session, &ret->session) &&
        copy_text(traceparent, &ret->traceparent) && copy_text(workspace, &ret->workspace))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the context");
    return false;
}

/* That many digits and then the end of the field; *next is behind it. */
static bool take_hex(const char **next, size_t digits, bool may_be_zero)
{
    const char *field = *next;
    if (strspn(field, "0123456789abcdef") != digits)
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
