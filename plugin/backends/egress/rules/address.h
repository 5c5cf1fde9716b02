/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of addresses, by IANA's registries of special purpose addresses. Looked at where a
 * connection is about to be made, so that no second resolution comes between. Pure code, one
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* NULL: a connection to it may be made. Otherwise the class that forbids it. With private, only
 * what no endpoint may reach is refused: services of a cloud's metadata, multicast, and addresses
 * that are none. */
const char *address_refusal(const struct sockaddr *address, bool private_addresses);
