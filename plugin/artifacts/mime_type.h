/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type of a file by its first bytes, then by its name's ending. Nothing is decoded. Pure code,
 * any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MIME_TYPE_BYTES 512 /* of a file's beginning are enough */

struct mime_type {
    const char *name; /* static */
    bool active;      /* may execute scripts where it is shown */
};

/* bytes: the file's beginning; is_text: all of it is UTF-8 without a NUL. A file is active if its
 * content or its ending is of such a type. */
struct mime_type mime_type_of(const char *path, const unsigned char *bytes, size_t length,
                              bool is_text);
