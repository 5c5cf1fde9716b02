/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of endpoints, and of environments; and the clients that find an endpoint by variables of
 * their own, by the name that a policy gives them ("preset"). Pure code and constant data, any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ENDPOINT_NAME_LIMIT 32

/* [a-z][a-z0-9-]{0,31} */
bool endpoint_name_valid(const char *name);

struct endpoint_preset {
    const char *name;
    const char *variable;         /* of the endpoint's URL; NULL: none */
    const char *suffix;           /* behind the URL */
    const char *const *constants; /* "NAME=value" of further variables, NULL-terminated */
    bool is_git;                  /* git's settings say which addresses lead to the endpoint */
};

const struct endpoint_preset *endpoint_presets_all(size_t *ret_count);
