/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost manifest: what the provider offers. Main thread. */
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "cli/commands.h"
#include "formats/manifest_format.h"
#include "host/provider_status.h"
#include "host/tool_call.h"

static bool print_tools(const struct manifest_format *format, const json_t *manifest, int out,
                        struct failure *failure)
{
    json_auto_t *tools = NULL;
    json_auto_t *notes = NULL;
    if (!manifest_format_apply(format, manifest, &tools, &notes, failure))
        return false;
    size_t index = 0;
    const json_t *note = NULL;
    json_array_foreach(notes, index, note) console_print_notice(json_string_value(note));
    return console_print_json(out, tools, failure);
}

/* What a model's API takes has no environments: an operator asks for these. */
static bool print_manifest(const struct options *options, json_t *manifest, int out,
                           struct failure *failure)
{
    return provider_status_environments(options, manifest, failure) &&
           console_print_json(out, manifest, failure);
}

int command_manifest(const struct options *options, int out)
{
    struct failure failure;
    const struct manifest_format *format =
        options->format ? manifest_format_find(options->format, &failure) : NULL;
    if (options->format && !format) {
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    json_auto_t *manifest = tool_manifest_read(options, &failure);
    if (manifest && (format ? print_tools(format, manifest, out, &failure)
                            : print_manifest(options, manifest, out, &failure)))
        return EXIT_SUCCESS;
    console_print_failure(&failure);
    return EXIT_FAILURE;
}
