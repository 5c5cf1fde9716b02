/* SPDX-License-Identifier: Apache-2.0 */
/* A gateway that grants every capability, approves every request and keeps no audit. */
#pragma once

#include <stdint.h>

#include "tool_provider.h"

static inline void grant(void *user, const char *what, uint32_t *verdict)
{
    (void)user;
    (void)what;
    *verdict = TOOL_VERDICT_ALLOW;
}

static inline void approve(void *user, uint64_t token, const char *request, uint32_t *verdict)
{
    (void)user;
    (void)token;
    (void)request;
    *verdict = TOOL_VERDICT_ALLOW;
}

static inline struct tool_host permissive_host(uint64_t call_id)
{
    return (struct tool_host){
        .struct_size = sizeof(struct tool_host),
        .abi_version = TOOL_ABI_VERSION,
        .call_id = call_id,
        .check_capability = grant,
        .request_approval = approve,
        .audit = grant,
    };
}
