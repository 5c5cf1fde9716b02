/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables in requests and policies: the grammar of their names, and reading an object
 * of them. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "json/json_place.h"

#define ENVIRONMENT_NAME_LIMIT 256 /* bytes */

/* [A-Za-z_][A-Za-z0-9_]*, at most ENVIRONMENT_NAME_LIMIT bytes. */
bool environment_name_valid(const char *name, size_t length);

/* Reads {"NAME": "value"} of at most count members with values of at most value_limit bytes.
 * *ret is a new list of "NAME=value" sorted by name (string_list_free()). */
bool environment_read(const struct json_place *place, json_t *object, size_t count,
                      size_t value_limit, char ***ret);

/* The value of a variable in a list of "NAME=value" (NULL: none), borrowed; NULL: it has none. */
const char *environment_value(char *const *environment, const char *name);
/* Whether a list has the variable. */
bool environment_has(char *const *environment, const char *name);

/* Adds "name=value" at the end of a list, also behind one of that name. value may hold any bytes
 * but NUL. false when out of memory, and the list is as before. */
bool environment_add(char ***list, const char *name, const void *value, size_t length);
/* Puts "name=value" into a list, replacing the one of that name, which is wiped. Else as
 * environment_add(). */
bool environment_set(char ***list, const char *name, const void *value, size_t length);
/* The same for every member of more (NULL: none). */
bool environment_set_all(char ***list, char *const *more);

/* A new object of name to value, of a list of NAME=VALUE; NULL when out of memory. */
json_t *environment_json(char *const *environment);
