/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe's tool, which programs call through the provider. Under the control of a case, as all of
 * the probe is; its thread answers later.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/provider.h"

#define PROBE_TOOL_NAME "conformance"
#define PROBE_TOOL_CONTEXT                                                              \
    "{\"tools\":[{\"name\":\"" PROBE_TOOL_NAME "\",\"description\":\"Says one word.\"," \
    "\"input_schema\":{\"type\":\"object\"},\"approval\":\"never\"}]}"
#define PROBE_TOOL_WORD  "conformance-tool-word"
#define PROBE_TOOL_REPLY "{\"content\":[{\"type\":\"text\",\"text\":\"" PROBE_TOOL_WORD "\"}]}"

enum probe_tool_answer {
    PROBE_TOOL_INSIDE, /* from inside the callback */
    PROBE_TOOL_LATER,  /* from another thread */
    PROBE_TOOL_SILENT, /* never */
};

/* The behaviour of call_tool, and what came of it. */
struct probe_tools {
    enum probe_tool_answer answer;
    const char *reply;
    size_t reply_length;
    unsigned reply_times; /* the same answer, so often */
    uint32_t verdict;
    unsigned asked;         /* calls of it so far */
    bool wrong;             /* a call was not as the ABI has it */
    uint64_t token;         /* of the last one */
    int32_t reply_codes[2]; /* of the first and the second answer to it */
    unsigned cancelled;     /* so often cancel_tool_call has come for it */
    bool cancelled_another; /* or for another token */
    tool_reply_call_fn reply_call;
    pthread_t thread;
    bool has_thread;
};

/* The callbacks' work. */
void probe_tools_call(struct probe_tools *tools, uint64_t token, const char *call_json,
                      uint32_t *verdict);
void probe_tools_cancel(struct probe_tools *tools, uint64_t token);
/* Waits for the thread that answers later. */
void probe_tools_clear(struct probe_tools *tools);
