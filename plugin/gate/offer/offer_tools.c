/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's tools in the words for a model: see offer_tools.h. Runs in the gateway, on the
 * thread inside tool_prepare(). */
#include "gate/offer/offer_tools.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "gate/choice/tool_plan.h"
#include "gate/offer/offer_list.h"
#include "tools/tool_definition.h"
#include "vocabulary/capability.h"

#define TEXT_LIMIT       4096 /* bytes of the whole description */
#define LINE_LIMIT       256
#define PARAMETERS_LIMIT 80
#define MORE_LIMIT       160 /* of the line for those that do not fit */

static bool is_offered(const struct offer *offer, const struct tool_definition *tool)
{
    return tool_plan_allows(offer->configuration->policy, tool->name) &&
           offer_grants(offer, CAPABILITY_TOOLS, tool->name);
}

bool offer_tools_has_some(const struct offer *offer)
{
    for (size_t i = 0; i < offer->tools->count; i++)
        if (is_offered(offer, &offer->tools->items[i]))
            return true;
    return false;
}

/* Up to the first line break that has something ahead of it. */
static const char *first_line(const char *text, int *ret_length)
{
    text += strspn(text, " \t\r\n");
    *ret_length = (int)strcspn(text, "\r\n");
    return text;
}

/* "sql, limit": so that a program can be written without asking for the schema first. */
static void name_parameters(const struct tool_definition *tool, char ret[PARAMETERS_LIMIT])
{
    json_t *properties = json_object_get(tool->input_schema, "properties");
    size_t length = 0;
    ret[0] = '\0';
    for (void *at = json_object_iter(properties); at; at = json_object_iter_next(properties, at)) {
        const char *name = json_object_iter_key(at);
        const char *comma = length > 0 ? ", " : "";
        if (length + strlen(comma) + strlen(name) + sizeof(", ...") > PARAMETERS_LIMIT) {
            (void)snprintf(ret + length, PARAMETERS_LIMIT - length, "%s...", comma);
            return;
        }
        length += (size_t)snprintf(ret + length, PARAMETERS_LIMIT - length, "%s%s", comma, name);
    }
}

/* No text of a tool begins a line of its own. */
static void write_line(const struct tool_definition *tool, char ret[LINE_LIMIT])
{
    char parameters[PARAMETERS_LIMIT];
    int length = 0;
    const char *words = tool->description ? tool->description : tool->title;
    const char *line = first_line(words ? words : "", &length);
    name_parameters(tool, parameters);
    (void)snprintf(ret, LINE_LIMIT, "\n- %s(%s)%s%.*s", tool->name, parameters,
                   length > 0 ? ": " : "", length, line);
    utf8_end_whole(ret);
    for (char *byte = ret + 1; *byte != '\0'; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
            *byte = ' ';
}

bool offer_tools_describe(const struct offer *offer, json_t *member)
{
    struct offer_list list;
    offer_list_begin(&list, member, TEXT_LIMIT, MORE_LIMIT);
    for (size_t i = 0; i < offer->tools->count; i++) {
        char line[LINE_LIMIT];
        if (!is_offered(offer, &offer->tools->items[i]))
            continue;
        write_line(&offer->tools->items[i], line);
        offer_list_add(&list, line);
    }
    return offer_list_end(
        &list,
        "are not listed: [\"*\"] names all, and tools.search(\"words\") finds them "
        "in the program.",
        member);
}
