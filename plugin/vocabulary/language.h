/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed set of languages a request can name, with the aliases that are taken for them. How a
 * language is run is the policy's; that it exists is decided here, so that the manifest needs no
 * policy. Constant data, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/run_description.h"

struct language {
    const char *name;
    const char *const *aliases;  /* NULL-terminated */
    bool has_results;            /* its programs can send results */
    enum run_interpreter runner; /* of its programs and the cells of its sessions; none: it has
                                   neither sessions nor calls of tools */
};

/* All of them; *ret_count members. */
const struct language *languages_all(size_t *ret_count);
/* The language of that name or alias (ASCII case is ignored), NULL where there is none. */
const struct language *language_find(const char *name);
