/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, durations and sizes from the command line and from files, checked to the last byte. Pure
 * code, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Digits only: no sign, no space, nothing behind, at most maximum. */
bool number_parse(const char *text, uint64_t maximum, uint64_t *ret);

/* 500ms, 5s, 1m, 2h, 7d: digits and one unit, nothing else. More than maximum is false. */
bool duration_parse(const char *text, uint64_t maximum_ms, uint64_t *ret_ms);

/* Digits, and a unit of 1024, 1024² and so on or none: 4096, 64K, 256MiB, 1G. */
bool size_parse(const char *text, uint64_t maximum, uint64_t *ret);
