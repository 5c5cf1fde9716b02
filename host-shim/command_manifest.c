/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost manifest: what the provider offers. Main thread. */
#include <string.h>

#include "cleanup.h"
#include "commands.h"
#include "console.h"
#include "json_print.h"
#include "tool_call.h"

static bool print_manifest(const struct options *options, int out, struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    if (!tool_provider_open(options, &provider, failure))
        return false;
    const char *text = provider.manifest();
    CLEANUP_JSON json_t *manifest = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json_is_object(manifest))
        return failure_set(failure, "provider_failed", "the provider's manifest is no JSON object");
    return json_print(out, manifest, failure);
}

int command_manifest(const struct options *options, int out)
{
    struct failure failure;
    if (print_manifest(options, out, &failure))
        return EXIT_SUCCESS;
    console_print_failure(&failure);
    return EXIT_FAILURE;
}
