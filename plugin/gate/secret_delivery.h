/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's stage that brings an approved call's secrets to its run. It asks for them, adds them
 * to the redaction, and puts them into the run's description. Runs in the gateway, on the thread
 * inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "call/call.h"

/* Fills call->redaction and the description, which has the only copy that is not locked, until
 * the backend has it (run.h, spent). false with what secret_value_read() or
 * redaction_add() says, or SECRET_UNUSABLE. */
bool deliver_secrets(struct call *call, struct error *error);
