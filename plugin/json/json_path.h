/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths in requests and policies: no empty, "." or ".." part and no control character. Pure code,
 * any thread.
 */
#pragma once

#include <stdbool.h>

#include "json/json_place.h"

#define PATH_LIMIT 4095 /* bytes of any path: the kernel's own, without the NUL */

/* Each refuses any other path at its place. */
bool json_check_absolute_path(const struct json_place *place, const char *path);
/* It can only name something below a directory. */
bool json_check_relative_path(const struct json_place *place, const char *path);
