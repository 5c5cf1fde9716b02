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
 * description: CODE_EXECUTE_ENDPOINT_NAME, those of the policy, and those of its preset. A cell
 * gets those of all endpoints of its session. One that the request sets itself stays as it is.
 * Ahead of deliver_secrets(). false with OUT_OF_MEMORY. */
bool deliver_endpoint_variables(struct call *call, struct error *error);

/* Fetches the credentials and registers the run: call->broker_run. Of a cell that is the session's
 * registration, where it is still to begin, and what the cell may reach is call->cell_endpoints.
 * Nothing where neither call nor session has endpoints. false with what secret_value_read() or
 * broker_register() says, or SECRET_UNUSABLE. */
bool deliver_endpoints(struct call *call, struct error *error);

/* Behind the run: call->network has its requests. Nothing for a cell. */
void endpoints_end(struct call *call);

/* Of a cell of call->session, right ahead of it and behind it. Nothing where the session has no
 * endpoints. begin: false where the cell is not to run. */
bool endpoints_begin_cell(struct call *call, struct error *error);
void endpoints_end_cell(struct call *call);
