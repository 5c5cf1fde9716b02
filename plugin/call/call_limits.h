/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits that a request can ask for: the rows of request_fields() that name one. On the thread
 * inside tool_invoke() or tool_prepare().
 */
#pragma once

#include "call/call.h"
#include "request/request_fields.h"

/* The field's limit among those. Wall time has one for each shape of call. */
const struct policy_limit *call_limit(const struct call *call, const struct policy_limits *limits,
                                      const struct request_field *field);

/* Sets the run's limits to what the request asks for, else to the defaults. false with
 * LIMIT_TOO_HIGH. */
bool call_limits_settle(struct call *call, struct error *error);

/* Adds to the hint of a program that met a limit which a request can ask for. More is advised only
 * where policy and host would give it to this caller; the host is asked for the capability. */
void call_limit_hint(const struct call *call, const char *limit, struct error *error);
