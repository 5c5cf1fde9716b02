/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a run to its endpoints, between a channel and the sandbox or the broker. */
#pragma once

#include "backends/remote/relay/relay.h"

/* Gateway: tells the broker behind that socket, and makes this side's end of its stream. */
bool intake_give(int socket, int *ret);

/* Worker: makes the socket on which the backend hands out its listener or its stream; *ret is the
 * backend's. */
bool intake_make(struct channel *channel, int *ret);
void intake_clear(struct channel *channel);
/* As source_step(), of a channel that has an intake. false: nothing comes of it any more. */
bool intake_step(struct channel *channel);

enum intake_verdict { INTAKE_TAKEN, INTAKE_WAITS, INTAKE_BROKEN };
/* Takes bytes that have come, all or none. */
enum intake_verdict intake_take(struct channel *channel, const unsigned char *bytes, size_t length);
