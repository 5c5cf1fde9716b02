/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How members of an engine's answers are compared. Engines write an empty member as null, as an
 * empty string, list or object, as 0 and as false, or leave it out. Pure code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* NULL, which is a member that is not there, is empty. */
bool engine_member_is_empty(const json_t *value);
/* Both are empty, or they are equal. */
bool engine_members_are_same(const json_t *one, const json_t *other);
