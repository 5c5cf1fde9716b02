/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has made beside its output: values and displays on standard output, files beneath
 * --out or among those that are kept, and on standard error a line for each, or why it was left
 * out. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/terminal_picture.h"
#include "files/artifact_store.h"
#include "files/output_directory.h"

struct run_report {
    int out;                                  /* where values go; -1: nowhere */
    bool quiet;                               /* say only what went wrong */
    const struct output_directory *directory; /* NULL: files are kept */
    const struct artifact_store *artifacts;
    enum terminal_pictures pictures; /* how they are shown at out */
};

/* Entries of the result's "files" and "results" get "written" (a path), "not_written" (a reason) or
 * "uri". false: a file was to be written, and was not. */
bool run_report_make(const struct run_report *report, json_t *result);
