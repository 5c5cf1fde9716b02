/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message to a program of ours in a memory file that nobody can change any more, so that what is
 * checked is what is read. Runs in the gateway, on any thread.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* name: of the file, for people who look at descriptors. The bytes stay the caller's to wipe. A
 * new descriptor, CLOEXEC; -1 with BACKEND_FAILED. */
int sealed_message_open(const char *name, const void *bytes, size_t length, struct error *error);
