/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames on their way to a program that calls tools: kept until its socket takes them. Owned by
 * the run, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "tools/tool_answer.h"
#include "tools/tool_definition.h"

/* {0} is an empty one. */
struct answer_queue {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    size_t sent;
    size_t full;     /* from so many bytes that wait on, nothing more is begun */
    size_t errors;   /* bytes of errors that were added, less what has been sent since */
    bool is_last;    /* behind what waits the socket is shut down */
    bool has_closed; /* the program reads no answer any more */
};

/* With the first frame, which describes the tools. false: no memory. */
bool answer_queue_begin(struct answer_queue *queue, const struct tool_list *tools,
                        const struct policy_tools *limits);
void answer_queue_clear(struct answer_queue *queue);
/* Without memory the program hears nothing more, and its read has an end. */
void answer_queue_add(struct answer_queue *queue, uint32_t number,
                      const struct tool_answer *answer);
/* Nothing more is added: the program's read has an end behind what waits. */
void answer_queue_end(struct answer_queue *queue);
/* Is there something to do for answer_queue_write()? */
bool answer_queue_has_some(const struct answer_queue *queue);
/* Nothing more is begun: the answers to what is under way wait behind these. */
bool answer_queue_is_full(const struct answer_queue *queue);
/* It is full, and not only of such answers: the program makes calls and does not read. */
bool answer_queue_is_flooded(const struct answer_queue *queue);
/* As much as the socket takes now; -1: there is none any more. */
void answer_queue_write(struct answer_queue *queue, int socket);
