/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers from the command line and from files, checked to the last byte. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Digits only: no sign, no space, nothing behind, at most maximum. */
bool number_parse(const char *text, uint64_t maximum, uint64_t *ret);
