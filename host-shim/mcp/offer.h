/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tools of other servers a model hears of. The provider is asked at the begin, and again
 * where such a server has told of its tools since: clients that have listed the tools are told that
 * the list has changed. Main thread.
 */
#pragma once

#include <stdbool.h>

#include "base/failure.h"
#include "mcp/server.h"

/* Puts the schemas into the status that the grants and a call's context leave. */
bool offer_ask(const struct provider *provider, const struct grants *grants, json_t *context,
               json_t *status, struct failure *failure);
/* Can the list of tools change while the server runs? */
bool offer_may_change(const struct server *server);
/* Asks again where it has to. What fails is in the log, and the offer stays. */
void offer_refresh(struct server *server);
