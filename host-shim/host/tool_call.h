/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a tool, from finding the provider to its result, with the grants of the command line.
 * Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit_setting.h"
#include "base/failure.h"
#include "files/lent_files.h"
#include "host/capability.h"
#include "host/host_callbacks.h"
#include "host/provider.h"
#include "options/options.h"

/* Where a command takes what comes while the tool runs. */
struct call_listener {
    void (*take_output)(void *user, uint32_t stream, const void *bytes, size_t length);
    void (*take_notice)(void *user, const char *text);
    void *user;
};

/* What a tool is called with. */
struct tool_input {
    const char *json;
    struct lent_files *files; /* those that it names; tool_call() adds those of --files-below */
};

struct call_result {
    bool ran;
    bool interrupted; /* a signal came while the call was under way */
    json_t *json;     /* what the provider returned; new */
};

/* What the command line grants, for one call or for many at a time: copy the grants and say for
 * each call where output and notices go. It lends its own memory, so it must stay where it is. */
struct tool_grants {
    struct grants grants;
    struct capability_manifest manifest; /* owned: its texts are in the list below */
    const char **capabilities;           /* owned */
    struct named_secret secrets[OPTIONS_PAIRS];
    struct audit_setting audit;      /* owned */
    struct artifact_store artifacts; /* owned */
    struct tool_servers *servers;    /* owned */
};

/* Starts the servers of --tools-from, and waits for them a while. *ret is all zero before. */
bool tool_grants_make(const struct options *options, const struct provider *provider,
                      struct tool_grants *ret, struct failure *failure);
/* Ends those servers. Before the provider is closed. */
void tool_grants_clear(struct tool_grants *grants);

/* A call's context_json: principal, workspace and narrowing; new. */
json_t *tool_context(const struct options *options, struct failure *failure);

/* Calls options->tool. true: the provider has answered, *ret says what (json_decref() it). false:
 * there is no result, and the failure says why. */
bool tool_call(const struct options *options, const struct tool_input *input,
               const struct call_listener *listener, struct call_result *ret,
               struct failure *failure);

/* A provider that is loaded and configured, with what the command line grants it: for calls one
 * after the other. It lends its own memory, so it must stay where it is. */
struct open_tool {
    const struct options *options;
    struct provider provider;
    struct tool_grants grants;
    uint64_t last_call;
};

/* *ret is all zero before. true: it is open; or, with *ret_refusal (new), the provider has refused
 * its configuration and this is its answer. Nothing is to be called then. */
bool open_tool_init(const struct options *options, struct open_tool *ret, json_t **ret_refusal,
                    struct failure *failure);
/* As tool_call(). signal_fd: see signal_watch.h. */
bool open_tool_call(struct open_tool *tool, const struct tool_input *input,
                    const struct call_listener *listener, int signal_fd, struct call_result *ret,
                    struct failure *failure);
/* Ends the provider, and all that it has kept between calls. */
void open_tool_clear(struct open_tool *tool);

/* Loads the provider of the options. */
bool tool_provider_open(const struct options *options, struct provider *ret,
                        struct failure *failure);

/* Its manifest, new. */
json_t *tool_manifest_read(const struct options *options, struct failure *failure);

#define TOOL_PATH_SIZE 4096

/* An absolute path to the policy, as it was given and not resolved: the provider judges the links
 * on it. false where there is no such file. */
bool tool_policy_path(const char *path, char ret[TOOL_PATH_SIZE], struct failure *failure);

/* Configures the provider with --policy, --sandbox and --sweep; where none was given nothing is
 * done, unless always is set. *ret_status (new, or NULL) is what the provider said; *ret_refused
 * is true where it refused. */
bool tool_provider_prepare(const struct options *options, const struct provider *provider,
                           bool always, bool *ret_refused, json_t **ret_status,
                           struct failure *failure);
