/* SPDX-License-Identifier: Apache-2.0 */
/* Taking secrets out of a JSON value: out of every text in it, names of members too. Pure code, any
 * thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "run/redaction.h"

struct json_redaction {
    const struct redaction *redaction; /* not empty */
    size_t room;  /* bytes that the changed texts may have; then the value is given up */
    size_t found; /* places in which a secret was found */
    bool lacks_room;
};

/* The value (a reference of the caller's, consumed), changed in place where it is an array or an
 * object, or one in its stead; not nested more deeply than json_input_parse() allows. Texts that
 * are replaced are wiped. NULL: no memory, or no room. */
json_t *json_redact(struct json_redaction *redaction, json_t *value);
