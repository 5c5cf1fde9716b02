/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host as one call sees it: a copy of its struct over zeroes, and the only places where its
 * callbacks are called. Each wrapper pre-sets the verdict to deny, so a callback that is absent,
 * raises or writes junk denies. Also the tokens by which it answers later. Runs on the thread
 * inside tool_invoke(); the copy lives as long as the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tool_provider.h"

/* Mistakes of a gateway's author. Nothing runs with any of them but the first. */
enum host_mistake {
    HOST_SOUND,
    HOST_MISSING,
    HOST_NO_SIZE,
    HOST_SHORT,
    HOST_NO_VERSION,
    HOST_OTHER_VERSION,
    HOST_NO_CHECK_CAPABILITY,
    HOST_NO_AUDIT,
    HOST_NO_CALL_TOOL,
};

/* Copies as much as the host's struct_size covers. Of a host that is missing, too short to hold
 * user, or of another major version nothing is copied: all zero, but for user and log where the
 * rest of the struct names its layout. */
enum host_mistake host_copy(const struct tool_host *host, struct tool_host *ret);

/* false with INVALID_HOST, which the copy's log has heard too. */
bool host_is_sound(const struct tool_host *copy, enum host_mistake mistake, struct error *error);

bool host_grants_capability(const struct tool_host *host, const char *capability);
/* TOOL_VERDICT_DENY for anything but the three other verdicts of the ABI. */
uint32_t host_request_approval(const struct tool_host *host, uint64_t token,
                               const char *request_json);
/* One read of a secret: TOOL_VERDICT_ALLOW and *ret_length, which may exceed capacity (call again
 * with more), TOOL_VERDICT_ABSENT, or TOOL_VERDICT_DENY for anything else. */
uint32_t host_read_secret(const struct tool_host *host, const char *name, void *buffer,
                          size_t capacity, size_t *ret_length);
/* Is there a check_content? */
bool host_checks_content(const struct tool_host *host);
/* true: the host has checked, and its answer of *ret_length bytes, at most capacity, is in answer.
 */
bool host_check_content(const struct tool_host *host, const char *request_json, char *answer,
                        size_t capacity, size_t *ret_length);
/* Opens a file that the host has listed. true: *ret is a descriptor of a regular file of *ret_size
 * bytes that can be read, CLOEXEC and the caller's. false with FILE_NOT_FOUND; of a descriptor that
 * is none of such a file the host's log hears too. */
bool host_open_file(const struct tool_host *host, const char *ref, int *ret, uint64_t *ret_size,
                    struct error *error);
/* Is there a store_file? */
bool host_stores_files(const struct tool_host *host);
/* true: the host keeps the file, and the name that it has given it, *ret_length bytes of UTF-8, is
 * in uri. descriptor: sealed; stays the caller's. */
bool host_store_file(const struct tool_host *host, const char *file_json, int descriptor, char *uri,
                     size_t capacity, size_t *ret_length);
/* Is there a call_tool? */
bool host_calls_tools(const struct tool_host *host);
/* One call of a tool, whose answer comes through tool_reply_call(). TOOL_VERDICT_LATER where it may
 * still come, or TOOL_VERDICT_DENY for anything else; it may have come either way. */
uint32_t host_call_tool(const struct tool_host *host, uint64_t token, const char *call_json);
void host_cancel_tool_call(const struct tool_host *host, uint64_t token);
/* true: the host says the record is stored. */
bool host_audit(const struct tool_host *host, const char *record_json);
void host_output(const struct tool_host *host, uint32_t stream, const void *bytes, size_t length);
void host_log(const struct tool_host *host, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The tokens by which a host answers what it was asked. They are random, so that none is used twice
 * and none can be guessed; fit 53 bits, so that JavaScript's numbers hold them; and those of one
 * kind are never those of the other. */
enum token_kind {
    TOKEN_OF_APPROVAL,  /* tool_reply_approval() */
    TOKEN_OF_TOOL_CALL, /* tool_reply_call() */
};

/* Any thread. true and *ret, not 0; false without entropy. */
bool token_make(enum token_kind kind, uint64_t *ret);
