/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a program on its way to a server and back. Under the lock of the servers, or owned by
 * one function. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_DEADLINE_MS 60000u /* where the provider says none */
/* A provider that has a time limit itself answers its program first, with the better error. */
#define ORDER_GRACE_MS 250u

struct tool_order {
    struct tool_order *next;
    uint64_t token;   /* the provider's name for the call */
    size_t server;    /* in the list of all */
    json_t *call;     /* the provider's call_json; owned */
    const char *name; /* "SERVER.TOOL", of the call */
    const char *tool; /* behind the server's name */
    char *arguments;  /* the program's own text, on one line; owned */
    uint64_t deadline;
    json_int_t number; /* of the request; 0: it is not sent */
    bool cancelled;
    char *reply; /* owned; NULL: not answered */
};

/* The hash of a call is of the text of its arguments, so a server gets that text. A line is a
 * message, though: a line break, which JSON has between values alone, is a blank to the server.
 * New; NULL: call_json is not as the ABI has it, or there is no memory. */
struct tool_order *tool_order_new(uint64_t token, const char *call_json);
void tool_order_free(struct tool_order *order);
/* Answers it with a tool's error; the first answer stays. */
void tool_order_fail(struct tool_order *order, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
