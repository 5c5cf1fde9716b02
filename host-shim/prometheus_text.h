/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's status as metrics in Prometheus' text exposition format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Members that are missing are done
 * without. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* A new text, NULL when out of memory. */
char *prometheus_text_make(const json_t *status, size_t *ret_length);
