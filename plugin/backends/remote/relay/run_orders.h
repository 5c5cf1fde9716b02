/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a run as a whole: between link.c and run.c. */
#pragma once

#include "backends/remote/relay/relay.h"

uint32_t run_offer(struct link *link, const struct remote_offer *offer);
void run_answer(struct link *link, uint32_t number, const struct remote_answer *answer);
bool run_send(struct link *link, uint32_t number, int fds[RUN_FD_COUNT]);
bool run_begun(const struct link *link, uint32_t number);
void run_withdraw(struct link *link, uint32_t number);

/* From the other side. false: the connection is over. */
bool run_take_offer(struct link *link, uint32_t number, const unsigned char *payload,
                    size_t length);
bool run_take_answer(struct link *link, uint32_t number, const unsigned char *payload,
                     size_t length);

/* Behind the frames of a turn. */
void run_withdraw_due(struct link *link);
void run_tell_over(struct link *link);
