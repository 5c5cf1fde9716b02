/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the comparison of single members: see engine_members.h. */
#include "backends/guest_runs/container/engine_members.h"

bool engine_member_is_empty(const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_NULL:
    case JSON_FALSE:
        return true;
    case JSON_STRING:
        return json_string_length(value) == 0;
    case JSON_ARRAY:
        return json_array_size(value) == 0;
    case JSON_OBJECT:
        return json_object_size(value) == 0;
    case JSON_INTEGER:
        return json_integer_value(value) == 0;
    case JSON_REAL:
        return json_real_value(value) == 0.0;
    case JSON_TRUE:
    default:
        return false;
    }
}

bool engine_members_are_same(const json_t *one, const json_t *other)
{
    return (engine_member_is_empty(one) && engine_member_is_empty(other)) ||
           (one && other && json_equal(one, other));
}
