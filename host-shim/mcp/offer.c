/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the questions for the offer, and what clients hear of a new one: see offer.h. Main thread.
 */
#include "mcp/offer.h"

#include "base/cleanup.h"
#include "base/console.h"
#include "host/provider_status.h"
#include "mcp/client/tool_servers.h"
#include "mcp/connection.h"
#include "mcp/wire/json_rpc.h"

bool offer_ask(const struct provider *provider, const struct grants *grants, json_t *context,
               json_t *status, struct failure *failure)
{
    json_auto_t *whole = json_copy(context);
    return whole && grants_add_tools(grants, whole)
               ? provider_status_offer(provider, grants, whole, status, failure)
               : failure_out_of_memory(failure);
}

bool offer_may_change(const struct server *server)
{
    return server->status && server->grants->grants.tool_servers;
}

static bool make_catalogue(const struct server *server, struct catalogue *ret,
                           struct failure *failure)
{
    const struct provider *provider = server->provider;
    json_auto_t *status = json_copy(server->status);
    if (!status)
        return failure_out_of_memory(failure);
    return offer_ask(provider, &server->grants->grants, server->context, status, failure) &&
           catalogue_make(provider->manifest(), status, server->options->full_result, ret, failure);
}

/* Who has not listed the tools yet, or was told already, will get the new list anyway. */
static void tell_clients(const struct server *server)
{
    for (struct connection *connection = server->connections; connection;
         connection = connection->next) {
        if (connection->has_listed)
            connection_send(connection,
                            rpc_notification("notifications/tools/list_changed", json_object()),
                            WRITE_NEEDED);
        connection->has_listed = false;
    }
}

void offer_refresh(struct server *server)
{
    CLEANUP(catalogue_clear) struct catalogue made = {.tools = NULL};
    struct failure failure;
    if (!offer_may_change(server))
        return;
    uint64_t lists = tool_servers_count_lists(server->grants->grants.tool_servers);
    if (lists == server->tool_lists)
        return;
    server->tool_lists = lists;
    if (!make_catalogue(server, &made, &failure)) {
        console_log_notice(failure.message);
        return;
    }
    if (json_equal(made.tools, server->catalogue.tools))
        return;
    json_t *before = server->catalogue.tools;
    server->catalogue.tools = made.tools;
    made.tools = before;
    tell_clients(server);
}
