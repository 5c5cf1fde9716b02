/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of the answer to a request that takes over its connection: libcurl gives that connection
 * away raw, so the head is read here. Bounded, byte by byte, nothing allocated. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_LIMIT    16384 /* bytes, those of interim answers included */
#define HTTP_INTERIM_LIMIT 8     /* 1xx answers before the one that counts */

/* Starts all zero. */
struct http_head {
    size_t length; /* bytes seen */
    size_t line_length;
    char line[64]; /* the beginning of the status line */
    bool in_headers;
    unsigned int interim;
    int status; /* of the answer, once it is whole */
};

enum http_head_state { HTTP_HEAD_MORE, HTTP_HEAD_WHOLE, HTTP_HEAD_BROKEN };

/* Takes bytes up to the end of the head; *ret_taken of them. Not to be called again after anything
 * but HTTP_HEAD_MORE. */
enum http_head_state http_head_feed(struct http_head *head, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken);
