/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the table of sessions (session.h): made, compared and released. For that table. */
#pragma once

#include <stdbool.h>

#include "session/session.h"

/* In a sandbox of its own, as taken; its run is the caller's to start. NULL: no memory. */
struct session *session_new(const struct session_terms *terms);
/* In the same sandbox, under the lock of the table, with the history of the other one. Its number
 * there is the caller's to give. NULL: no memory. */
struct session *session_new_branch(const struct session *from, const struct session_terms *terms);

/* Ends its sandbox with the last entry. */
void session_free(struct session *session);

/* Under the lock, once others see it: an operator may be reading them. false: no memory, or it has
 * as many as it may. */
bool session_append_language(struct session *session, const char *language);

void session_forget_secrets(struct session *session);

/* Either may be NULL. */
bool session_same_text(const char *one, const char *other);
