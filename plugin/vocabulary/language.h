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

/* In a request: no set, but what the machine's own interpreter has. */
#define ENVIRONMENT_SYSTEM "system"

/* The languages that sets of packages are for, in the order of environment_language_find(). */
enum environment_language {
    ENVIRONMENT_PYTHON,
    ENVIRONMENT_JAVASCRIPT,
    ENVIRONMENT_LANGUAGE_COUNT
};

struct environment_language_row {
    const char *language;  /* as requests and policies name it */
    const char *variable;  /* of the environment: directories, separated by ":" */
    const char *directory; /* of them, below the content of an environment; "": the content */
    const char *lock_name; /* of the lock file beside the program that builds */
    bool has_preparation;  /* its interpreter can be told what to import beforehand */
    bool has_wheelhouse;   /* its packages can come from a directory */
};

const struct environment_language_row *environment_language_find(unsigned language);
