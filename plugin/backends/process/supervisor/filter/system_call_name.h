/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a system call of this machine by its number, for people. Runs in the supervisor.
 */
#pragma once

#include <stddef.h>

/* "number N" for one that libseccomp does not know. */
void system_call_name(int number, char *ret, size_t size);
