/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of tool_status() and tool_prepare(): the layers that this machine can apply, found by
 * trial runs. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "protocol/run_event.h"

/* A new string, NULL when out of memory. refusal: the error of a configuration that was just
 * refused, or NULL. sweep: leftovers of dead gateways are removed first, and counted. */
char *status_text(const struct error *refusal, bool sweep);

/* An error as answers have it: code, message, hint; null for NULL. New, NULL when out of memory. */
json_t *status_error(const struct error *error);

/* The counters, and the number of calls now: new, NULL when out of memory. Nothing is tried for it.
 */
json_t *status_counters(void);

/* The ready sandboxes of each backend at this moment: new, NULL when out of memory. Nothing is
 * started for it; a backend that does not answer is waited for as long as backend_ask_pool() says.
 */
json_t *status_pools(void);

/* A trial of each mode that would take the place of an allowed one if the policy said so, as the
 * status has those of the others, with "variant_of" and "how": new, NULL when out of memory. */
json_t *status_variants(const struct policy *policy);

/* For the counters: one call has ended. ended is of its program, NULL where none has begun; error
 * is NULL where it had none. */
void status_count_call(const struct run_event *ended, const struct error *error);

/* In a child of fork(): it counts from 0. */
void status_after_fork(void);
