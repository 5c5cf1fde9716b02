/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands the files that a run has left in its working directory to the plugin, as frames
 * (file_frames.h). Runs in the first process of a sandbox, single-threaded, once no process of the
 * run is left that could act, or all are stopped.
 */
#pragma once

#include <stdbool.h>

#include "guest/files/file_frame_writer.h"
#include "guest/files/known_files.h"
#include "protocol/run_description.h"

struct collection_order {
    const struct run_outputs *outputs;
    const struct run_file *inputs; /* that the run has brought, with their content or their hash */
    size_t input_count;
    bool haste;                /* behind an order to end the run: within FILE_FRAMES_HASTE_MS */
    struct known_files *known; /* those that are unchanged are not told of; replaced by what is
                                  known then. NULL: none */
};

/* Collects what the outputs ask for: files that are new, or other than the run's own input of that
 * path. Ignores SIGPIPE from then on. An own time limit bounds it, without the time that the reader
 * takes. */
void collect_files(int directory, const struct collection_order *order,
                   const struct file_frame_sink *sink);
/* With known files: is there anything that collect_files() might tell of, at a first look? Opens no
 * file. */
bool collect_finds_any(int directory, const struct collection_order *order);

/* Says that nothing was collected, and why; FILE_WHOLE: that there is nothing. */
void collect_nothing(enum file_omission reason, const struct file_frame_sink *sink);
