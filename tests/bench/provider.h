/* SPDX-License-Identifier: Apache-2.0 */
/* The contestant that is the provider, and the host it is called by: one that allows everything. */
#pragma once

#include <jansson.h>

#include "attempt.h"

/* Loads the shared object for as long as the process lives. On failure prints why and exits. */
void provider_load(const char *path);

/* NULL: the configuration (borrowed) is in force; else the provider's error object, to be released
 * by the caller. */
json_t *provider_prepare(const json_t *configuration);

/* One call of code_execute through the whole ABI: the host grants the capability, approves, stores
 * both audit records, takes the files that are stored, and counts the output that comes. The time
 * taken is that of tool_invoke() alone. Any thread. */
void provider_call(const char *input_json, struct attempt *ret);

/* The result of such a call, new; NULL: it is none. */
json_t *provider_result(const char *input_json);

/* Lends that file to the calls from now on, as the ref "lent". false: it cannot be read. */
bool provider_lend(const char *path);

/* Offers one tool to the calls from now on, "echo", which needs no approval and is answered inside
 * of the callback, in the place of lent files. false: no memory. */
bool provider_offer_tool(void);

void provider_shutdown(void);
