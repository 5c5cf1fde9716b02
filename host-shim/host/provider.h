/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded provider: the functions of abi/tool_provider.h, looked up in a shared object. Loading
 * and closing happen on the main thread; the functions may be called from any.
 */
#pragma once

#include <stdbool.h>

#include "base/failure.h"
#include "tool_provider.h"

struct provider {
    void *library;
    tool_abi_version_fn abi_version;
    tool_manifest_fn manifest;
    tool_invoke_fn invoke;
    tool_free_fn free;
    tool_cancel_fn cancel;
    tool_reply_approval_fn reply_approval;
    tool_prepare_fn prepare; /* NULL where the provider has none */
    tool_status_fn status;
    tool_end_session_fn end_session; /* NULL where the provider has none */
    tool_reply_call_fn reply_call;   /* NULL where the provider has none */
    tool_shutdown_fn shutdown;
};

/* Which file to load: the option's, else TOOLHOST_PLUGIN's, else the one that was built or
 * installed beside toolhost. An absolute path; new text. */
bool provider_locate(const char *option, char **ret_path, struct failure *failure);

/* Loads it and refuses another major version. Close with provider_close(). */
bool provider_open(const char *path, struct provider *ret, struct failure *failure);

/* Shuts it down and unloads it. A provider that was never opened (all zero) is fine. */
void provider_close(struct provider *provider);

/* Copies a text that the provider made and gives the original back; NULL for NULL. */
char *provider_take_text(const struct provider *provider, char *text);
