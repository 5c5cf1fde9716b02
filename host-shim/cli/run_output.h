/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of one call of run or session: the program's bytes on the right streams as they come,
 * and behind them what the result has beside: values, displays and files, on standard output or
 * beneath --out. Main thread, and the callbacks on it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/terminal/terminal_picture.h"
#include "files/artifact_store.h"
#include "files/output_directory.h"
#include "options/options.h"

struct run_output {
    int out;
    bool silent; /* the result has it all */
    bool streamed_stdout, streamed_stderr;
    char last; /* byte on standard output; 0: none */
};

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

/* For struct call_listener; user is the struct run_output. A reader that is gone is no reason to
 * stop the program: its result still counts. SIGPIPE, where it is not ignored, ends toolhost as it
 * ends any other filter. */
void run_output_take(void *user, uint32_t stream, const void *bytes, size_t length);
void run_output_notice(void *user, const char *text);

/* What the provider has not streamed, and what the result has cut off. */
void run_output_print_rest(struct run_output *output, const json_t *result);

/* Values, displays and files. false: a file was to be written, and was not. */
bool run_output_report_made(const struct options *options, const struct output_directory *directory,
                            const struct artifact_store *artifacts, struct run_output *output,
                            json_t *result);

/* The result's error, where it has one. */
void run_output_print_error(const json_t *result);
