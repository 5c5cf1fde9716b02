/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of JSON and structs that hold the same, by a table: a row a member. The table reads the
 * object, refuses what it has no row for, and releases what the struct owns. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json_place.h"

struct json_member;

/* A kind of members: the reading into the row's place in the struct (target; value NULL: absent),
 * and the release of what that place owns, which leaves it empty. */
struct json_kind {
    bool (*read)(const struct json_place *place, json_t *value, const struct json_member *member,
                 void *target);
    void (*clear)(const struct json_member *member, void *target); /* NULL: it owns nothing */
};

/* Refuses a text that is none of its kind. */
typedef bool json_text_check(const struct json_place *place, const char *text);

/* The items of a list or a map, in an array of the struct. Each begins as zeros. */
struct json_items {
    size_t size;  /* of an item */
    size_t count; /* offset of their number (a size_t) in the struct that has the array */
    size_t name;  /* of a map: offset of the name (a char *, owned) in an item */
    json_text_check *check_name;
    const struct json_member *members; /* of an item */
    /* Instead of reading it by these members; object: the struct that has the array. */
    bool (*read)(const struct json_place *place, json_t *value, void *item, void *object);
};

struct json_member {
    const char *name;             /* NULL: the end of the table */
    const struct json_kind *kind; /* NULL, and read too: known here and read elsewhere */
    size_t offset;                /* in the struct; of an object that of the inner struct */
    int64_t minimum, maximum;     /* of a number; of the bytes of a text; of the items of a list */
    bool optional;                /* absent: its place stays as it is */
    json_text_check *check;       /* of a text, or of each of a list; NULL: any */
    const char *const *names;     /* of a choice: in the order of its enum, ended by NULL */
    const struct json_member *members; /* of an object */
    const struct json_items *items;    /* of a list or map */
    /* Instead of the kind's reader, with the whole struct; value NULL: absent and not optional. */
    bool (*read)(const struct json_place *place, json_t *value, void *object);
};

extern const struct json_kind member_boolean;       /* bool */
extern const struct json_kind member_uint32;        /* uint32_t */
extern const struct json_kind member_uint64;        /* uint64_t */
extern const struct json_kind member_choice;        /* an enum that has no negative value */
extern const struct json_kind member_text;          /* char *, owned */
extern const struct json_kind member_borrowed_text; /* const char *, borrowed from the value */
extern const struct json_kind member_object;        /* a struct, by its own table */
extern const struct json_kind member_list;          /* an array of JSON: a new array of structs */
extern const struct json_kind member_map;           /* an object of any names: likewise */

/* Reads the members of value into object in the order of the table, which {0} ends. On false some
 * are read, and the caller clears object either way. */
bool json_read_members(const struct json_place *place, json_t *value,
                       const struct json_member *members, void *object);
/* One of them. */
bool json_read_member(const struct json_place *place, const json_t *value,
                      const struct json_member *member, void *object);
/* Releases what the members of object own, and leaves them empty. */
void json_clear_members(const struct json_member *members, void *object);

/* The index of the name in names, which NULL ends; refuses any other. */
bool json_choose(const struct json_place *place, const char *const *names, const char *name,
                 unsigned *ret);
/* A new copy of the text; false when out of memory. */
bool json_copy_text(const struct json_place *place, const char *text, char **ret);
