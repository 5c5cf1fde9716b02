/* SPDX-License-Identifier: Apache-2.0 */
/* Handing descriptors to the interpreter of a session. Runs in the guest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SEND_FDS_LIMIT 8

/* One byte and the descriptors, in one datagram. Does not wait. */
bool send_fds(int socket, char kind, const int *fds, size_t count);
