/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients that find an endpoint by variables of their own, by the name that a policy gives them
 * ("preset"). Constant data, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct endpoint_preset {
    const char *name;
    const char *variable;         /* of the endpoint's URL; NULL: none */
    const char *suffix;           /* behind the URL */
    const char *const *constants; /* "NAME=value" of further variables, NULL-terminated */
    bool is_git;                  /* git's settings say which addresses lead to the endpoint */
};

const struct endpoint_preset *endpoint_presets_all(size_t *ret_count);
