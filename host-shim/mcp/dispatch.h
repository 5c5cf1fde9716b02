/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of the Model Context Protocol, by a client's line. Main thread. */
#pragma once

#include <stddef.h>

struct connection;

/* One line without its break. */
void dispatch_line(struct connection *connection, const char *line, size_t length);
/* A line that was longer than is taken. */
void dispatch_too_long(struct connection *connection);
