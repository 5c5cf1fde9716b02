/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the request's members, by index: what request.c reads and input_schema.c describes.
 * Constant data, any thread.
 */
#pragma once

#include "request.h"

enum request_field_index {
    FIELD_LANGUAGE,
    FIELD_CODE,
    FIELD_STDIN,
    FIELD_ARGS,
    FIELD_ENV,
    FIELD_SECRETS,
    FIELD_FILES,
    FIELD_TIMEOUT_MS,
    FIELD_NETWORK,
    FIELD_IMAGE,
    FIELD_SESSION,
    FIELD_REASON,
    FIELD_COUNT
};

/* The encodings of a file's content. */
#define FILE_ENCODING_UTF8   "utf-8"
#define FILE_ENCODING_BASE64 "base64"

/* The field of that name or alias; NULL where there is none. */
const struct request_field *request_field_find(const char *name, size_t length);
