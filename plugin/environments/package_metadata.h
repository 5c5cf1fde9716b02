/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that come with an installed package say about it. They are a stranger's: what is
 * no name and no version is left out. Pure code, any process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PACKAGE_NAME_LIMIT    100 /* bytes */
#define PACKAGE_VERSION_LIMIT 60

struct package_facts {
    char name[PACKAGE_NAME_LIMIT + 1];
    char version[PACKAGE_VERSION_LIMIT + 1]; /* "": not told */
};

/* Letters, digits, and . _ - + and, within a JavaScript package's, @ and /. */
bool package_name_is_valid(const char *name);

/* Of the name of a file or directory that ends in .dist-info or .egg-info, "NAME[-VERSION[-…]]".
 * false: it does not end so, or has no name. */
bool package_facts_of_entry(const char *entry, struct package_facts *ret);

/* Takes over the headers Name and Version of a METADATA or PKG-INFO, of its first bytes. */
void package_facts_add_headers(const char *text, size_t length, struct package_facts *facts);

/* Takes over the "version" of a package.json; NUL bytes end it. */
void package_facts_add_json(const char *text, struct package_facts *facts);

/* Are they the same for pip: without regard to case, and to which of - _ . it is? */
bool package_names_equal(const char *one, const char *other);
