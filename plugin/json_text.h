/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values as text for the host: whole, or not there. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

/* A new NUL-terminated text from malloc(), not from jansson's allocator, which a host may exchange
 * meanwhile; NULL when out of memory, and for NULL. flags as in json_dumps(). */
char *json_text(const json_t *value, size_t flags);
