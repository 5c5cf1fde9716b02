/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of ours as Python has them. Runs inside an interpreter of ours, in its main thread. */
#pragma once

#include "backends/process/python/python_abi.h"

/* A list of bytes from a NULL-terminated list, or an empty one. NULL with an exception set. */
PyObject *bytes_list(char *const *strings);
