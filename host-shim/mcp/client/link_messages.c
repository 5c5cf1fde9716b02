/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of toolhost as a client, and what can be told of an answer that is no JSON. Pure code,
 * any thread. */
#include "mcp/client/link_messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/wire/json_rpc.h"
#include "mcp/wire/session_revision.h"

#define LONGEST_NUMBER 15u /* digits: it fits an integer */

static json_t *client_info(void)
{
    return json_pack("{s:s, s:s}", "name", "toolhost", "version", TOOLHOST_VERSION);
}

static bool add_meta(json_t *params)
{
    json_t *meta = json_pack("{s:s, s:{}, s:o}", "io.modelcontextprotocol/protocolVersion",
                             SESSION_MODERN_REVISION, "io.modelcontextprotocol/clientCapabilities",
                             "io.modelcontextprotocol/clientInfo", client_info());
    return json_object_set_new(params, "_meta", meta) == 0;
}

json_t *link_request(json_int_t number, const char *method, json_t *params, bool modern)
{
    if (modern && !add_meta(params)) {
        json_decref(params);
        return NULL;
    }
    return json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0", "id", number, "method", method,
                     "params", params);
}

json_t *link_initialize(json_int_t number)
{
    json_t *params = json_pack("{s:s, s:{}, s:o}", "protocolVersion", LINK_CLIENT_REVISION,
                               "capabilities", "clientInfo", client_info());
    return link_request(number, "initialize", params, false);
}

char *link_call_text(json_int_t number, const char *tool, const char *arguments, bool modern)
{
    static const char end[] = "}}"; /* of the parameters and of the message */
    json_auto_t *message =
        link_request(number, "tools/call", json_pack("{s:s}", "name", tool), modern);
    CLEANUP_FREE char *text = json_compact(message);
    char *whole = NULL;
    if (!text || asprintf(&whole, "%.*s,\"arguments\":%s%s", (int)(strlen(text) - strlen(end)),
                          text, arguments, end) < 0)
        return NULL;
    return whole;
}

bool link_speaks(const char *revision)
{
    json_auto_t *supported = session_supported_revisions();
    size_t index = 0;
    const json_t *one = NULL;
    json_array_foreach(supported, index, one)
    {
        if (strcmp(json_string_value(one), revision) == 0)
            return strcmp(revision, SESSION_MODERN_REVISION) != 0;
    }
    return false;
}

/* The integer at the text's beginning; 0: there is none, or it is too large. */
static json_int_t read_number(const char *text, size_t length, size_t *ret_digits)
{
    json_int_t number = 0;
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[digits])) {
        if (digits == LONGEST_NUMBER)
            return 0;
        number = number * 10 + (text[digits++] - '0');
    }
    *ret_digits = digits;
    return number;
}

json_int_t link_guess_number(const char *line, size_t length)
{
    size_t digits = 0;
    size_t id_length = 0;
    const char *id = incoming_response_id(line, length, &id_length);
    json_int_t number = id ? read_number(id, id_length, &digits) : 0;
    return digits == id_length ? number : 0;
}

/* Inside a text of JSON a quotation mark has a backslash before it; and a number that is followed
 * by one brace alone is the outermost object's. */
json_int_t link_guess_number_at_end(const char *bytes, size_t length)
{
    static const char member[] = "\"id\":";
    for (size_t at = length; at-- > 1;) {
        size_t left = length - at;
        if (left <= strlen(member) || memcmp(bytes + at, member, strlen(member)) != 0)
            continue;
        const char *number = bytes + at + strlen(member);
        const char *end = bytes + length;
        size_t digits = 0;
        while (number < end && *number == ' ')
            number++;
        json_int_t value = read_number(number, (size_t)(end - number), &digits);
        const char *rest = number + digits;
        while (end > rest && isspace((unsigned char)end[-1]))
            end--;
        return bytes[at - 1] != '\\' && end - rest == 1 && *rest == '}' ? value : 0;
    }
    return 0;
}
