/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands the files that a run has left in its working directory to the plugin, as frames
 * (file_frames.h). Runs in the first process of a sandbox, single-threaded, once no process of the
 * run is left that could act.
 */
#pragma once

#include "protocol/run_description.h"

/* Collects what the description's outputs ask for: files that are new, or other than the run's own
 * input of that path. Ignores SIGPIPE from then on. An own time limit bounds it, without the time
 * that the reader takes. */
void collect_files(int directory, const struct run_description *description, int frames);

/* The same behind an order to end the run, whose caller wants it ended: within
 * FILE_FRAMES_HASTE_MS. */
void collect_files_in_haste(int directory, const struct run_description *description, int frames);
