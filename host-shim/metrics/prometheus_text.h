/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's status as metrics in Prometheus' text exposition format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Members that are missing are done
 * without. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

/* A new text, NULL when out of memory. */
char *prometheus_text_make(const json_t *status, size_t *ret_length);

/* A file of them, as collectors read it: they have the old or the new one, and never a part, as
 * what was written aside takes its place. World-readable, as a collector is another user. */
bool prometheus_file_write(const char *path, const json_t *status, struct failure *failure);
