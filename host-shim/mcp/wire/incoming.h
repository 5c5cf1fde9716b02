/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's line as JSON, within bounds that are held before memory is spent on it. What cannot be
 * read is refused under its own identifier where that can be told, so that the client need not wait
 * for an answer that would never come. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define INCOMING_VALUES 131072u /* in one line */

struct incoming_problem {
    int code; /* of JSON-RPC */
    char message[256];
    json_t *id; /* new, or NULL */
};

/* New; NULL with the problem, whose id becomes the caller's. */
json_t *incoming_read(const char *line, size_t length, struct incoming_problem *ret_problem);
