/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request's "files": paths that stay inside the working directory, and decoded content. Pure
 * code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "protocol/run_description.h"
#include "json/json_place.h"

/* Reads the array into *ret_files (run_files_free()) of *ret_count members. */
bool request_files_read(const struct json_place *place, json_t *array, size_t limit,
                        struct run_file **ret_files, size_t *ret_count);

/* NULL is fine. */
void run_files_free(struct run_file *files, size_t count);
