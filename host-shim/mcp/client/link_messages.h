/* SPDX-License-Identifier: Apache-2.0 */
/* The messages that toolhost sends as a client. New; NULL when out of memory. Pure code, any
 * thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LINK_CLIENT_REVISION "2025-11-25" /* the last with a handshake */

/* params is taken over. From 2026-07-28 on (modern) each request carries what the handshake
 * settles before. */
json_t *link_request(json_int_t number, const char *method, json_t *params, bool modern);
json_t *link_initialize(json_int_t number);
/* A request to call a tool, as text; arguments: the text of an object, which is in it as it is. */
char *link_call_text(json_int_t number, const char *tool, const char *arguments, bool modern);

/* Is it a revision with a handshake that toolhost speaks? */
bool link_speaks(const char *revision);

/* Which request a line answers that cannot be read: the number at its beginning, or at its end; 0:
 * that is not to be seen. */
json_int_t link_guess_number(const char *line, size_t length);
/* The same, for a line of which only the last bytes are there. */
json_int_t link_guess_number_at_end(const char *bytes, size_t length);
