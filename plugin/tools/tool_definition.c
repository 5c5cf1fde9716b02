/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of a definition's members: see tool_definition.h. Runs in the gateway, on the
 * thread inside tool_invoke(). */
#include "tools/tool_definition.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "base/utf8.h"
#include "vocabulary/pattern.h"
#include "json/json_members.h"
#include "json/json_text.h"

#define HINT_NAMES 10 /* of the tools that there are */

#define AT(member) .offset = offsetof(struct tool_definition, member)

static bool check_name(const struct json_place *place, const char *text)
{
    if (strchr(text, '*'))
        return json_place_refuse(place, "must not hold \"*\"");
    return json_check_no_control(place, text);
}

static bool read_schema(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    if (!json_read_object(place, value))
        return false;
    CLEANUP_FREE char *text = json_text(value, JSON_ORDER_MADE_REAL);
    if (!text)
        return json_place_out_of_memory(place);
    if (strlen(text) > (size_t)member->maximum)
        return json_place_refuse(place, "must have at most %lld bytes", (long long)member->maximum);
    *(json_t **)target = json_incref(value);
    return true;
}

static void clear_schema(const struct json_member *member, void *target)
{
    json_t **value = target;
    (void)member;
    json_decref(*value);
    *value = NULL;
}

static const struct json_kind member_schema = {.read = read_schema, .clear = clear_schema};

/* In the order of enum tool_approval. */
static const char *const approvals[] = {"ask", "never", "always_ask", NULL};

const char *tool_approval_name(enum tool_approval approval)
{
    return approvals[approval];
}

static const struct json_member tool_members[] = {
    {"name", &member_text, AT(name), 1, TOOL_NAME_LIMIT, .check = check_name},
    {"title", &member_text, AT(title), 0, TOOL_TITLE_LIMIT, .optional = true,
     .check = json_check_no_control},
    {"description", &member_text, AT(description), 0, TOOL_DESCRIPTION_LIMIT, .optional = true},
    {"input_schema", &member_schema, AT(input_schema), 0, TOOL_SCHEMA_LIMIT},
    {"output_schema", &member_schema, AT(output_schema), 0, TOOL_SCHEMA_LIMIT, .optional = true},
    {"annotations", &member_schema, AT(annotations), 0, TOOL_SCHEMA_LIMIT, .optional = true},
    {"approval", &member_choice, AT(approval), .optional = true, .names = approvals},
    {0},
};

static bool make_digest(const struct json_place *place, struct tool_definition *tool)
{
    json_auto_t *whole =
        json_pack("{s:s, s:s*, s:s*, s:O, s:O*, s:O*}", "name", tool->name, "title", tool->title,
                  "description", tool->description, "input_schema", tool->input_schema,
                  "output_schema", tool->output_schema, "annotations", tool->annotations);
    CLEANUP_FREE char *text = json_text(whole, JSON_ORDER_SORTED_REAL);
    if (!text)
        return json_place_out_of_memory(place);
    sha256_hex(text, strlen(text), tool->digest);
    return true;
}

static bool read_tool(const struct json_place *place, json_t *value, void *item, void *object)
{
    const struct tool_list *list = object;
    struct tool_definition *tool = item;
    if (!json_read_members(place, value, tool_members, tool))
        return false;
    if (tool_list_find(list, tool->name) != tool) {
        struct json_place name = json_place_named(place, "name");
        return json_place_refuse(&name, "another tool has this name");
    }
    return make_digest(place, tool);
}

static const struct json_items tool_items = {
    .size = sizeof(struct tool_definition),
    .count = offsetof(struct tool_list, count),
    .members = tool_members,
    .read = read_tool,
};

static const struct json_member list_members[] = {
    {"tools", &member_list, offsetof(struct tool_list, items), 0, TOOL_LIST_LIMIT,
     .items = &tool_items},
    {0},
};

bool tool_list_read(const struct json_place *place, json_t *value, struct tool_list *ret)
{
    return member_list.read(place, value, &list_members[0], &ret->items);
}

void tool_list_clear(struct tool_list *list)
{
    json_clear_members(list_members, list);
}

const struct tool_definition *tool_list_find(const struct tool_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static bool has_identifier(const struct tool_list *list, const char *identifier)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].identifier, identifier) == 0)
            return true;
    return false;
}

static void make_identifier(const struct tool_list *others, const char *name,
                            char ret[TOOL_IDENTIFIER_SIZE])
{
    tool_identifier_make(name, ret);
    for (unsigned number = 2; has_identifier(others, ret); number++)
        tool_identifier_number(name, number, ret);
}

static bool copy_text(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return *ret || !text;
}

/* The list has room for it. */
static bool add_copy(struct tool_list *list, const struct tool_definition *tool)
{
    struct tool_definition *copy = &list->items[list->count];
    *copy = (struct tool_definition){
        .input_schema = json_incref(tool->input_schema),
        .output_schema = json_incref(tool->output_schema),
        .annotations = json_incref(tool->annotations),
        .approval = tool->approval,
    };
    memcpy(copy->digest, tool->digest, sizeof(copy->digest));
    make_identifier(list, tool->name, copy->identifier);
    list->count++;
    return copy_text(tool->name, &copy->name) && copy_text(tool->title, &copy->title) &&
           copy_text(tool->description, &copy->description);
}

/* "a, b and 12 more" */
static void hint_at_names(const struct tool_list *all, struct error *error)
{
    char names[400] = "";
    size_t told = 0;
    while (told < all->count && told < HINT_NAMES) {
        size_t before = strlen(names);
        text_add_name(names, sizeof(names), all->items[told].name);
        if (strlen(names) == before)
            break;
        told++;
    }
    if (all->count == 0)
        error_set_hint(error, "the gateway offers no tools to programs: leave the member out");
    else if (told < all->count)
        error_set_hint(error, "the gateway offers %s and %zu more", names, all->count - told);
    else
        error_set_hint(error, "the gateway offers %s", names);
}

/* The pattern is a model's: what a terminal must not get is left out, and no character is cut. */
static bool refuse_pattern(const struct tool_list *all, size_t index, const char *pattern,
                           struct error *error)
{
    char shown[TOOL_NAME_LIMIT + 1] = "";
    size_t length = strnlen(pattern, TOOL_NAME_LIMIT);
    memcpy(shown, pattern, utf8_whole_prefix((const unsigned char *)pattern, length));
    for (char *byte = shown; *byte != '\0'; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7F)
            *byte = '?';
    error_set(error, ERROR_INVALID_INPUT, "request: /tools/%zu: the gateway has no tool \"%s\"",
              index, shown);
    hint_at_names(all, error);
    return false;
}

/* *ret_found: does it name any, be it one that is in the list already? */
static bool add_matches(const struct tool_list *all, const char *pattern,
                        const struct tool_filter *filter, struct tool_list *list, bool *ret_found)
{
    *ret_found = false;
    for (size_t i = 0; i < all->count; i++) {
        const struct tool_definition *tool = &all->items[i];
        if (!name_pattern_matches(pattern, tool->name) ||
            (filter && !filter->allows(filter->user, tool)))
            continue;
        *ret_found = true;
        if (!tool_list_find(list, tool->name) && !add_copy(list, tool))
            return false;
    }
    return true;
}

bool tool_list_select(const struct tool_list *all, char *const *patterns,
                      const struct tool_filter *filter, struct tool_list *ret, struct error *error)
{
    CLEANUP(tool_list_clear)
    struct tool_list list = {.items = calloc(all->count + 1, sizeof(*list.items))};
    bool has_memory = list.items != NULL;
    for (size_t i = 0; has_memory && patterns && patterns[i]; i++) {
        bool found = false;
        has_memory = add_matches(all, patterns[i], filter, &list, &found);
        if (has_memory && !found)
            return refuse_pattern(all, i, patterns[i], error);
    }
    if (!has_memory) {
        error_set(error, ERROR_OUT_OF_MEMORY, "request: /tools: out of memory");
        return false;
    }
    *ret = list;
    list = (struct tool_list){.items = NULL};
    return true;
}
