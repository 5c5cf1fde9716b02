/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider as one was built before this version: with the header of that time, of which copies
 * are kept in header-1.0/, header-1.1/ and header-1.2/. It takes of the host's struct what it
 * knows, and says in its result which capability it was granted and whether its struct ended where
 * that header's does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool_provider.h"

uint32_t tool_abi_version(void)
{
    return TOOL_ABI_VERSION;
}

int32_t tool_invoke(const char *tool, const char *input_json, const struct tool_host *host,
                    char **output_json)
{
    struct tool_host known;
    uint32_t verdict = TOOL_VERDICT_DENY;
    (void)tool;
    (void)input_json;
    memset(&known, 0, sizeof(known));
    memcpy(&known, host, host->struct_size < sizeof(known) ? host->struct_size : sizeof(known));
    if (known.check_capability != NULL)
        known.check_capability(known.user, "sandbox.exec", &verdict);
    if (known.log != NULL)
        known.log(known.user, TOOL_LOG_INFO, "as ever");
    *output_json = malloc(64);
    if (*output_json == NULL)
        return TOOL_FAILED;
    (void)snprintf(*output_json, 64, "{\"granted\": %s, \"size\": %u}",
                   verdict == TOOL_VERDICT_ALLOW ? "true" : "false", (unsigned)sizeof(known));
    return TOOL_OK;
}

void tool_free(void *pointer)
{
    free(pointer);
}
