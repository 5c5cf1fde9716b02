/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and durations from the command line and from files, checked to the last byte. Pure code,
 * any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Digits only: no sign, no space, nothing behind, at most maximum. */
bool number_parse(const char *text, uint64_t maximum, uint64_t *ret);

/* 500ms, 5s, 1m, 2h, 7d: digits and one unit, nothing else. More than maximum is false. */
bool duration_parse(const char *text, uint64_t maximum_ms, uint64_t *ret_ms);
