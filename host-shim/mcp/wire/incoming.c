/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a line over, then has it read. Pure code, any thread. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/wire/json_rpc.h"

/* Read from the raw bytes. In a line that is not JSON it is a guess. */
struct outline {
    size_t values;   /* no fewer than there are */
    size_t depth;    /* at its end */
    bool has_method; /* as a request has */
    size_t id_count;
    const char *id; /* the last one's text */
    size_t id_length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Behind the string that begins at the quotation mark. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

static const char *skip_scalar(const char *at, const char *end)
{
    if (at < end && *at == '"')
        return skip_string(at, end);
    while (at < end && !is_blank(*at) && *at != ',' && *at != '}')
        at++;
    return at;
}

static bool is_name(const char *text, size_t length, const char *name)
{
    return length == strlen(name) && memcmp(text, name, length) == 0;
}

/* A string of the outermost object; with a colon behind it, it is a member's name. */
static void note_member(struct outline *outline, const char *name, const char *name_end,
                        const char *end)
{
    const char *colon = skip_blanks(name_end, end);
    if (colon == end || *colon != ':')
        return;
    size_t length = (size_t)(name_end - name);
    const char *value = skip_blanks(colon + 1, end);
    if (is_name(name, length, "\"method\""))
        outline->has_method = true;
    if (!is_name(name, length, "\"id\""))
        return;
    outline->id_count++;
    outline->id = value;
    outline->id_length = (size_t)(skip_scalar(value, end) - value);
}

static struct outline look_over(const char *line, size_t length)
{
    const char *end = line + length;
    struct outline outline = {.values = 1};
    for (const char *at = line; at < end;) {
        char c = *at;
        const char *next = c == '"' ? skip_string(at, end) : at + 1;
        bool opens = c == '{' || c == '[';
        if (c == '"' && outline.depth == 1)
            note_member(&outline, at, next, end);
        outline.values += opens || c == ',';
        outline.depth += opens;
        outline.depth -= (c == '}' || c == ']') && outline.depth > 0;
        at = next;
    }
    return outline;
}

/* The identifier of a whole request; half a line and a response have none. */
static json_t *read_id(const struct outline *outline)
{
    if (!outline->has_method || outline->id_count != 1 || outline->depth != 0)
        return NULL;
    json_auto_t *id =
        json_loadb(outline->id, outline->id_length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    return json_is_string(id) || json_is_integer(id) ? TAKE_POINTER(id) : NULL;
}

json_t *incoming_read(const char *line, size_t length, struct incoming_problem *ret_problem)
{
    struct outline outline = look_over(line, length);
    *ret_problem = (struct incoming_problem){.code = RPC_INVALID_REQUEST};
    if (outline.values > INCOMING_VALUES) {
        (void)snprintf(ret_problem->message, sizeof(ret_problem->message),
                       "the line has more than %u values", INCOMING_VALUES);
        ret_problem->id = read_id(&outline);
        return NULL;
    }
    json_error_t error;
    json_t *message =
        json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (message)
        return message;
    char why[JSON_PROBLEM_LIMIT];
    json_problem(&error, why);
    *ret_problem = (struct incoming_problem){.code = RPC_PARSE_ERROR, .id = read_id(&outline)};
    (void)snprintf(ret_problem->message, sizeof(ret_problem->message),
                   "the line cannot be read as JSON: %s", why);
    return NULL;
}

const char *incoming_response_id(const char *line, size_t length, size_t *ret_length)
{
    struct outline outline = look_over(line, length);
    if (outline.has_method || outline.id_count != 1 || outline.id_length == 0)
        return NULL;
    *ret_length = outline.id_length;
    return outline.id;
}
