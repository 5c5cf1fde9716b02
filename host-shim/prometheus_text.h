/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's status as metrics in Prometheus' text exposition format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Members that are missing are done
 * without. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

void prometheus_text_write(FILE *out, const json_t *status);
