/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway's side of the process backend tells it in the opaque part of a run's
 * description, where the run has no namespaces. The others have no options. Pure code, any thread;
 * both ends.
 */
#pragma once

#include <stdbool.h>

#include "protocol/run_description.h"

struct process_options {
    /* Where a run's own directory is made; "": the first of the usual places that can be written.
     * NULL is written as "". */
    char *scratch_directory;
};

/* Into *ret, whose bytes before it frees; false when out of memory, or where the text is too long.
 */
bool process_options_write(const struct process_options *options, struct wire_bytes *ret);
/* *ret owns its text (process_options_clear()); false where the bytes are no such options. */
bool process_options_read(const struct wire_bytes *bytes, struct process_options *ret);
void process_options_clear(struct process_options *options);
