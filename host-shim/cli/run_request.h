/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the tool's input for toolhost run from the command line. Main thread. */
#pragma once

#include "options/options.h"

/* The input as JSON text (new). code "usage" means that the command line was wrong. */
bool run_request_build(const struct options *options, char **ret_input, struct failure *failure);
