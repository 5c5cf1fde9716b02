/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of metrics, as collectors read it. Whoever reads it has the old or the
 * new one, and never a part: what was written aside takes its place. World-readable, as a collector
 * is another user. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "failure.h"

bool metrics_file_write(const char *path, const json_t *status, struct failure *failure);
