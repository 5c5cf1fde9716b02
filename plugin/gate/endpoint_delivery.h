/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages that bring an approved call's endpoints to its run: the variables by which the program
 * finds them, and their registration with the broker, with the credentials. The program never gets
 * these. Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* The variables by which the program finds its endpoints (endpoint_variables.c), into the
 * description: CODE_EXECUTE_ENDPOINT_NAME, those of the policy, and those of its preset. One that
 * the request sets itself stays as it is. false when out of memory. */
bool endpoint_variables_set(struct call *call);

/* Fetches the credentials and registers the run: call->broker_run. Nothing where the call names no
 * endpoints. false with what secret_value_read() or broker_register() says, or SECRET_UNUSABLE. */
bool deliver_endpoints(struct call *call, struct error *error);

/* Behind the run: call->network has its requests. */
void endpoints_end(struct call *call);
