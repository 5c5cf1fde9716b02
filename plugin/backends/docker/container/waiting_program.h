/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the program by which a container's Python waits: waiting_python.py. */
#pragma once

#include <stddef.h>

extern const char waiting_python_text[];
extern const size_t waiting_python_length;
