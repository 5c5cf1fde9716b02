/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interpreter of a machine, or of an image, has beyond its standard library: names and
 * versions, as the files beside the packages say. No code runs, no link is followed to a file that
 * is read, and all is bounded. Runs in the gateway, and inside a sandbox for the commands that
 * would install packages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "environments/package_metadata.h"

#define SYSTEM_PACKAGES_LIMIT 2000  /* packages of one list */
#define SYSTEM_ENTRIES_LIMIT  20000 /* entries of one directory that are looked at */
#define SYSTEM_METADATA_LIMIT 4096  /* bytes of a METADATA: the headers come first */
#define SYSTEM_MANIFEST_LIMIT 65536 /* bytes of a package.json; of a longer one no version */
#define SYSTEM_READ_LIMIT_MS  1000  /* for one list; then the rest of it is left out */

enum package_language { PACKAGES_PYTHON, PACKAGES_JAVASCRIPT };

/* All zero: empty. */
struct system_packages {
    struct package_facts *list; /* owned; sorted by system_packages_read() alone */
    size_t count;
    bool is_cut; /* a bound was met: there are more */
};

/* Where to look; borrowed. */
struct system_view {
    char *const *commands;     /* directories in which the interpreter's command is looked for */
    const char *further;       /* value of PYTHONPATH or NODE_PATH; NULL: none */
    char *const *const *shown; /* lists, with NULL at the end, of the paths below which files count;
                                  NULL: everywhere */
};

/* Adds those of one directory; of two with the same name the first stays. A directory that is not
 * there, or must not be read, has none. deadline_ms: of monotonic_ms(). false: no memory. */
bool system_packages_add(enum package_language language, const char *directory,
                         unsigned long long deadline_ms, struct system_packages *packages);

/* Those of all directories that the interpreter searches, sorted by name; none where there is no
 * interpreter. *ret is the caller's (system_packages_clear()). false: no memory. */
bool system_packages_read(enum package_language language, const struct system_view *view,
                          struct system_packages *ret);

/* NULL: it is not among them. */
const struct package_facts *system_packages_find(const struct system_packages *packages,
                                                 enum package_language language, const char *name);

void system_packages_clear(struct system_packages *packages);
