/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of a gateway that its context names, and those of them that a program may call. A
 * definition is the gateway's; the words that select some are a model's. Pure code, any thread; a
 * list belongs to one call.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tools/tool_identifier.h"
#include "json/canonical.h"
#include "json/json_place.h"

#define TOOL_LIST_LIMIT        256   /* tools of a context */
#define TOOL_TITLE_LIMIT       256   /* bytes */
#define TOOL_DESCRIPTION_LIMIT 16384 /* bytes */
#define TOOL_SCHEMA_LIMIT      65536 /* bytes of a schema's shortest text */

/* What the gateway wants of a person before a call. */
enum tool_approval {
    TOOL_APPROVAL_ASK, /* where it does not say */
    TOOL_APPROVAL_NEVER,
    TOOL_APPROVAL_ALWAYS_ASK, /* no grant that stands counts */
};

struct tool_definition {
    char *name; /* 1 to TOOL_NAME_LIMIT bytes, no control character, no "*" */
    char identifier[TOOL_IDENTIFIER_SIZE]; /* "" but in a list of tool_list_select() */
    char *title;                           /* NULL: absent, as in the next */
    char *description;
    json_t *input_schema; /* an object, owned, only read */
    json_t *output_schema;
    json_t *annotations;
    enum tool_approval approval;
    /* SHA-256 of all but identifier and approval, as canonical JSON: what a person has seen. */
    char digest[SHA256_HEX_LENGTH + 1];
};

/* {NULL, 0} is the empty one. */
struct tool_list {
    struct tool_definition *items;
    size_t count;
};

/* The context's "tools". On false some are read, and the caller clears the list either way. */
bool tool_list_read(const struct json_place *place, json_t *value, struct tool_list *ret);
void tool_list_clear(struct tool_list *list);
/* NULL: it has none of that name. */
const char *tool_approval_name(enum tool_approval approval);
const struct tool_definition *tool_list_find(const struct tool_list *list, const char *name);

/* Whether a tool is there for the request at all. */
struct tool_filter {
    bool (*allows)(const void *user, const struct tool_definition *tool);
    const void *user;
};

/* Copies of the tools that the patterns (of vocabulary/pattern.h, NULL-terminated, NULL: none) name
 * and the filter (NULL: any) allows, in their order, each tool once and with its identifier. false,
 * INVALID_INPUT: one of them names no tool; the hint lists what there is. */
bool tool_list_select(const struct tool_list *all, char *const *patterns,
                      const struct tool_filter *filter, struct tool_list *ret, struct error *error);
