/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of the command line: a number and its unit. Pure code, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* 500ms, 5s, 1m, 2h, 7d: digits and one unit, nothing else. More than maximum is false. */
bool duration_parse(const char *text, uint64_t maximum_ms, uint64_t *ret_ms);
