/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What toolhost grants for one call: the callbacks of struct tool_host. They run on the thread that
 * is inside tool_invoke(), one at a time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "approval/approval.h"
#include "approval/call_questions.h"
#include "audit/audit_log.h"
#include "files/artifact_store.h"
#include "files/lent_files.h"
#include "host/provider.h"
#include "mcp/client/tool_servers.h"

struct named_secret {
    const char *name;
    const char *path;
};

struct grants {
    const struct provider *provider;
    const char *const *capabilities;
    size_t capability_count;
    const struct named_secret *secrets;
    size_t secret_count;
    const struct lent_files *files; /* of this call; NULL: none */
    const struct artifact_store *artifacts;
    struct tool_servers *tool_servers; /* whose tools programs may call; NULL: none */
    struct approver approver;
    struct call_questions *questions; /* about calls of the run's program */
    struct audit_log audit_log;
    bool audit_failure_reported; /* of this call */
    char denied[320];            /* the capability that was denied last in this call; "": none */
    bool denied_by_option; /* by a denial among the capabilities, and not for want of a grant */
    int cancelled_fd;
    /* Where output goes as it comes; NULL: nowhere. */
    void (*take_output)(void *user, uint32_t stream, const void *bytes, size_t length);
    /* Where a callback says why it denied, and where the provider's log goes; never NULL. */
    void (*take_notice)(void *user, const char *text);
    void *user;
};

/* Fills *ret so that it lends the grants, which must outlive the call. context_json may be NULL. */
void host_callbacks_fill(struct tool_host *ret, struct grants *grants, uint64_t call_id,
                         const char *context_json);

/* Asks the approver of the grants, which are the user. */
call_question_fn grants_decide_call;

/* Adds the tools that programs may call now to the context of a call. false: out of memory. */
bool grants_add_tools(const struct grants *grants, json_t *context);

/* Adds to the hint of a result with "access_denied" which option of toolhost grants the capability
 * that was denied last. NULL and all other results stay as they are. */
void grants_add_denial_hint(const struct grants *grants, json_t *result);
