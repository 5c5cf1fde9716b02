/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's output is one table of members. The manifest's output schema and every result are
 * walks over it, so that neither has a member that the other lacks. A member is added by a row
 * (result_members.c, nested_members.c). Constant data and pure code; any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json_text.h"

struct result;

enum result_type {
    RESULT_STRING,
    RESULT_INTEGER,
    RESULT_BOOLEAN,
    RESULT_STRINGS,     /* array of strings */
    RESULT_INTEGER_MAP, /* object of integers, any names */
    RESULT_OBJECT,      /* members */
    RESULT_OPEN,        /* object with any members */
    RESULT_OPEN_ARRAY,  /* array of such */
};

struct result_member {
    const char *name; /* NULL ends a table */
    enum result_type type;
    const char *description;
    bool nullable;
    const char *(*value_at)(size_t index); /* of a string from a closed set; NULL behind the last */

    /* The value, by type; a nullable one is null for NULL and for a negative integer. */
    const char *(*string)(const struct result *result);
    int64_t (*integer)(const struct result *result);
    bool (*boolean)(const struct result *result);
    /* Of RESULT_OBJECT. */
    const struct result_member *members;
    /* Writes a value of another form, under that name. */
    void (*write)(struct json_draft *draft, const char *name, const struct result *result);

    /* false: null, or left out where the member is optional. NULL: it is there always. */
    bool (*is_given)(const struct result *result);
    bool optional;

    bool brief;   /* a host with little space sends it */
    bool text;    /* a model reads it as text */
    bool audited; /* the audit record of a run's end has it as well */
};

/* The members of a result, in their order. */
const struct result_member *result_members(void);
/* Those of its objects. */
extern const struct result_member truncated_members[];
extern const struct result_member usage_members[];
extern const struct result_member isolation_members[];
extern const struct result_member results_omitted_members[];
extern const struct result_member packages_members[];
extern const struct result_member session_members[];
extern const struct result_member approval_members[];
extern const struct result_member error_members[];

/* The schema that they make; a new reference, NULL when out of memory. */
json_t *result_schema(void);
/* The names of those that are brief, of those that are text, and of those that the audit has; as
 * result_schema(). */
json_t *result_form(void);

/* Writes the members, without the brackets around them; audited: those of the audit alone. */
void result_members_write(struct json_draft *draft, const struct result_member *members,
                          const struct result *result);
void result_members_audit(struct json_draft *draft, const struct result *result);
