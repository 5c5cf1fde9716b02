/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost mcp: the provider's tools for clients of the Model Context Protocol. Main thread; see
 * mcp/server.h for the others.
 */
#include "base/cleanup.h"
#include "base/console.h"
#include "cli/commands.h"
#include "host/tool_call.h"
#include "mcp/offer.h"
#include "mcp/server.h"

static bool serve(const struct options *options, int out, struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    CLEANUP(tool_grants_clear) struct tool_grants grants = {0};
    json_auto_t *status = NULL;
    bool refused = false;
    if (!tool_provider_open(options, &provider, failure) ||
        !tool_provider_prepare(options, &provider, true, &refused, &status, failure))
        return false;
    if (refused)
        return failure_from_json(failure, json_object_get(status, "error"));
    json_auto_t *context = tool_context(options, failure);
    return context && tool_grants_make(options, &provider, &grants, failure) &&
           (!status || offer_ask(&provider, &grants.grants, context, status, failure)) &&
           server_run(options, &provider, &grants, context, status, out, failure);
}

int command_mcp(const struct options *options, int out)
{
    struct failure failure;
    if (serve(options, out, &failure))
        return EXIT_SUCCESS;
    console_print_failure(&failure);
    return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_FAILURE;
}
