/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's decision about one call: its secrets and its approval rules, with the facts of the
 * call. It decides, and refuses with a message for the agent. It asks nobody. Pure code, on the
 * thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "call/call.h"

/* The call's request must be parsed and its configuration settled. */
struct policy_verdict decision_of(const struct call *call);
/* "policy:rule:ID" (or its index), "policy:default". */
void decision_name(const struct policy *policy, const struct policy_verdict *verdict, char *ret,
                   size_t size);

/* A note for each rule that allows the code by its hash, and does not apply because of something
 * else that the request has. */
void decision_note_unnamed(struct call *call);

/* false with SECRET_NOT_ALLOWED, naming the secret, for one that the policy does not list or does
 * not give to this language or mode. */
bool decision_check_secrets(const struct call *call, struct error *error);
/* false with POLICY_DENIED where the rules, or the context, deny. */
bool decision_check_rules(const struct call *call, struct error *error);
