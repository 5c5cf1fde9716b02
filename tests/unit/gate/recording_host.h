/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that allows everything and remembers which callbacks were called, in order; a test takes
 * away what it wants refused. For one call at a time.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tool_provider.h"

#define RECORDING_LIMIT 64

struct recording_host {
    char
        called[RECORDING_LIMIT]; /* C apability, A pproval, S ecret, W rite to the audit, O utput */
    size_t count;
    char first_record[32]; /* "event" of the audit records */
    char last_record[32];
};

static inline void record_call(void *user, char what)
{
    struct recording_host *host = user;
    size_t last = host->count > 0 ? host->count - 1 : 0;
    /* Repetitions are one: how often is not what matters here. */
    if (host->count < RECORDING_LIMIT - 1 && (host->count == 0 || host->called[last] != what))
        host->called[host->count++] = what;
}

static inline void record_capability(void *user, const char *capability, uint32_t *verdict)
{
    (void)capability;
    record_call(user, 'C');
    *verdict = TOOL_VERDICT_ALLOW;
}

static inline void record_approval(void *user, uint64_t token, const char *request_json,
                                   uint32_t *verdict)
{
    (void)token;
    (void)request_json;
    record_call(user, 'A');
    *verdict = TOOL_VERDICT_ALLOW;
}

static inline void record_secret(void *user, const char *name, void *buffer, size_t capacity,
                                 size_t *length, uint32_t *verdict)
{
    (void)name;
    (void)capacity;
    record_call(user, 'S');
    memcpy(buffer, "hunter2", 7);
    *length = 7;
    *verdict = TOOL_VERDICT_ALLOW;
}

static inline void record_audit(void *user, const char *record_json, uint32_t *verdict)
{
    struct recording_host *host = user;
    const char *event = strstr(record_json, "\"event\":\"");
    (void)snprintf(host->last_record, sizeof(host->last_record), "%.*s",
                   event != NULL ? (int)strcspn(event + 9, "\"") : 0,
                   event != NULL ? event + 9 : "");
    if (host->first_record[0] == '\0')
        memcpy(host->first_record, host->last_record, sizeof(host->first_record));
    record_call(user, 'W');
    *verdict = TOOL_VERDICT_ALLOW;
}

static inline void record_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    (void)stream;
    (void)bytes;
    (void)length;
    record_call(user, 'O');
}

static inline struct tool_host recording_host(struct recording_host *host)
{
    *host = (struct recording_host){.count = 0};
    return (struct tool_host){
        .struct_size = sizeof(struct tool_host),
        .abi_version = TOOL_ABI_VERSION,
        .user = host,
        .check_capability = record_capability,
        .request_approval = record_approval,
        .read_secret = record_secret,
        .audit = record_audit,
        .on_output = record_output,
    };
}
