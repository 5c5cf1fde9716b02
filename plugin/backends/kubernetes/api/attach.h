/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attached stream of a pod's container: the API server's WebSocket, by v5.channel.k8s.io, else
 * by v4. What is sent goes to the container's standard input; what comes is its standard output and
 * error, as it comes. Runs in the kubernetes backend; no function here waits.
 *
 * Neither the answer 101 nor the stream's end proves that a program ran; only its output does.
 * Input ends only with the connection (v4 has no other end), so a message must state its length.
 * The server does not read while the program does not, so the sender limits the bytes under way by
 * the program's acknowledgements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/kubernetes/api/api_client.h"

struct attach;

/* Once, when it is connected (attach_ask() is next) or failed. */
typedef void attach_connected(void *user, const struct api_fault *fault);

/* Begins to connect, for a container of a pod; texts are copied. NULL when out of memory. The
 * server must outlive it. */
struct attach *attach_open(struct api_client *client, const struct api_server *server,
                           const char *name_space, const char *pod, const char *container,
                           attach_connected *connected, void *user);
/* At any time; NULL is fine. */
void attach_close(struct attach *attach);
int attach_fd(const struct attach *attach); /* of one that is connected */

/* Sends the request for the WebSocket. 1: all of it is sent; 0: the connection takes no more now;
 * -1: it is broken. */
int attach_ask(struct attach *attach);

/* As send(2), to standard input: how many bytes were taken, which may not be sent yet; -1 with
 * EAGAIN: none now; with any other errno: it is broken. */
ssize_t attach_send(struct attach *attach, const void *bytes, size_t length);
/* Sends what was taken, and answers to pings. It is to be called when the descriptor is writable
 * while attach_has_unsent(). A broken connection shows in attach_receive(). */
void attach_flush(struct attach *attach);
bool attach_has_unsent(const struct attach *attach);

/* Sends a ping from time to time once the stream is open, because load balancers cut idle
 * connections. The time, by monotonic_us(), at which it is to be called again; UINT64_MAX: when the
 * stream has opened. No pong is waited for: a dead connection is the kernel's to tell. */
uint64_t attach_keep_alive(struct attach *attach, uint64_t now_us);

/* Raw bytes for attach_feed(), as recv(2): 0: the end; -1 with EAGAIN or the errno of a broken
 * connection. They may be buffered where poll() does not see them. */
ssize_t attach_receive(struct attach *attach, void *bytes, size_t capacity);

enum attach_word {
    ATTACH_WORD_NONE,   /* no piece so far */
    ATTACH_WORD_OPENED, /* the stream is granted */
    ATTACH_WORD_STDOUT,
    ATTACH_WORD_STDERR,
    ATTACH_WORD_END, /* nothing more will come, by the server's own close frame */
};

struct attach_said {
    enum attach_word word;
    const unsigned char *bytes; /* inside the input */
    size_t length;
};

/* Takes received bytes up to one piece. The number of bytes taken (all of them where there is no
 * piece), or -1 with the fault: refused, not what was asked for, or broken. It must not be called
 * again then. */
ptrdiff_t attach_feed(struct attach *attach, const unsigned char *bytes, size_t length,
                      struct attach_said *ret, struct api_fault *fault);
/* The server has ended the stream by a close frame, so the output is complete. */
bool attach_is_whole(const struct attach *attach);
/* The protocol granted, 4 or 5; 0: none yet. */
unsigned int attach_protocol(const struct attach *attach);
