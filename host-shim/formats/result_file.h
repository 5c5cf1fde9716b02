/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of a result's "files" (docs/abi.md): how it is read, described and opened, wherever its
 * content is. What it says comes from a program: nobody's word for anything. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/failure.h"
#include "files/artifact_store.h"

struct result_file {
    json_t *entry;
    const char *path, *mime_type;
    json_int_t size;       /* -1: not told */
    const json_t *content; /* NULL: it is not in the result */
    bool is_text;          /* the content is the text itself, and not Base64 */
    const char *uri;       /* the name under which it is kept; or NULL */
    const char *omitted;   /* why there is neither; or NULL */
    bool active;           /* a front end that shows it may run scripts */
};

/* false: it has no path. */
bool result_file_read(json_t *entry, struct result_file *ret);

/* The content as a new descriptor: a memfd, or the kept file. -1 fills the failure. */
int result_file_open(const struct result_file *file, const struct artifact_store *artifacts,
                     struct failure *failure);

/* Keeps a file that is in the result, and gives its entry the "uri". false fills the failure. */
bool result_file_keep(struct result_file *file, const struct artifact_store *artifacts,
                      struct failure *failure);

/* "chart.png (image/png, 18.2 kB)", escaped, with the reason where it was left out. */
void result_file_describe(const struct result_file *file, FILE *out);

/* "3 more files, 1.2 MB: left out, too_many" of "files_omitted" or "results_omitted"; "files may be
 * missing: killed" where nobody knows how many; nothing for null. */
void result_omitted_describe(const json_t *omitted, const char *what, FILE *out);
