/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a provider's status for people. Pure code, any thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Whether the configured mode can be used. */
bool doctor_report_is_available(const json_t *status);
/* What the machine can do, layer by layer, and how to get what is missing; escaped. */
void doctor_report_write(FILE *out, const json_t *status);
/* Of each backend that works with several machines or engines: which, and in what state; escaped.
 */
void doctor_report_write_parts(FILE *out, const json_t *status);
