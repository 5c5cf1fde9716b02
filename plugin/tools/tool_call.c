/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a tool: see tool_call.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "tools/tool_call.h"

#include <inttypes.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/run_description.h"

const char *tool_call_status_name(enum tool_call_status status)
{
    static const char *const names[TOOL_CALL_STATUS_COUNT] = {
#define X(constant, name) [TOOL_CALL_##constant] = (name),
        TOOL_CALL_STATUSES(X)
#undef X
    };
    return names[status];
}

void tool_call_hash(struct tool_call *call, const char *run_id)
{
    char head[RUN_ID_LENGTH + TOOL_NAME_LIMIT + 32];
    int length =
        snprintf(head, sizeof(head), "%s\n%" PRIu64 "\n%s\n", run_id, call->seq, call->name);
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, (const uint8_t *)head, (size_t)length);
    SHA256_Update(&context, (const uint8_t *)call->arguments, call->arguments_length);
    SHA256_Final(digest, &context);
    hex_text(digest, sizeof(digest), call->sha256);
}

void tool_call_free(struct tool_call *call)
{
    if (call->arguments)
        explicit_bzero(call->arguments, call->arguments_length);
    free(call->arguments);
    free(call);
}
