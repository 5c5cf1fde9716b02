/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a value in a JSON text, and typed reading of it with refusals that name the place:
 * "request: /args/2: must be a string of at most 32768 bytes". Shared by everything that reads JSON
 * from outside. Pure code, any thread; a place is a value, copied for each step down.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "json/json_input.h"

struct json_place {
    const char *what;     /* name of the text: "request", "policy /etc/x.json"; borrowed */
    enum error_code code; /* of every refusal */
    struct error *error;
    char pointer[JSON_POINTER_LIMIT + 4]; /* RFC 6901, printable ASCII, with "..." where cut */
    size_t length;
    bool cut;
};

struct json_place json_place_root(const char *what, enum error_code code, struct error *error);
/* The member of that name (bytes of a stranger: escaped and cut). */
struct json_place json_place_member(const struct json_place *place, const char *name,
                                    size_t length);
/* The same for a name of ours. */
struct json_place json_place_named(const struct json_place *place, const char *name);
struct json_place json_place_item(const struct json_place *place, size_t index);

/* Fills the error with "what: pointer: message"; returns false. */
bool json_place_refuse(const struct json_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
/* The same for a lack of memory, with its own code; returns false. */
bool json_place_out_of_memory(const struct json_place *place);

/* Each refuses a value (NULL: missing) that is not of its kind; outputs are borrowed from value. */
bool json_read_object(const struct json_place *place, const json_t *value);
bool json_read_array(const struct json_place *place, const json_t *value, size_t minimum,
                     size_t maximum);
bool json_read_string(const struct json_place *place, const json_t *value, size_t minimum,
                      size_t maximum, const char **ret);
/* The same of a member that may be missing: *ret is then as it was. No longer than the text was. */
bool json_read_member_string(const struct json_place *place, const json_t *object, const char *name,
                             const char **ret);
/* Refuses a text with a control character. */
bool json_check_no_control(const struct json_place *place, const char *text);
/* Refuses a text with anything but printable ASCII, or with a blank. */
bool json_check_printable(const struct json_place *place, const char *text);
bool json_read_integer(const struct json_place *place, const json_t *value, int64_t minimum,
                       int64_t maximum, int64_t *ret);
bool json_read_boolean(const struct json_place *place, const json_t *value, bool *ret);

/* An object that has no member but the ones in names (NULL-terminated). */
bool json_read_known_members(const struct json_place *place, const json_t *value,
                             const char *const *names);
