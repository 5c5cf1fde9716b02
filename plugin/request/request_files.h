/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request's "files": paths that stay inside the working directory, and decoded content or a
 * reference. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "request/request.h"
#include "json/json_place.h"

/* Reads the array into *ret_files (request_files_free()) of *ret_count members. */
bool request_files_read(const struct json_place *place, json_t *array, size_t limit,
                        struct request_file **ret_files, size_t *ret_count);

/* NULL is fine. */
void request_files_free(struct request_file *files, size_t count);
