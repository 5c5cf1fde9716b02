/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of modes (vocabulary/sandbox_mode.h), a file each. Constant data. */
#pragma once

#include "vocabulary/sandbox_mode.h"

#define X(constant, row) extern const struct sandbox_mode_row row;
SANDBOX_MODES(X)
#undef X
