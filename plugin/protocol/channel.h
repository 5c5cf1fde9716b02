/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams with descriptors over the SOCK_SEQPACKET sockets between plugin and backend. The
 * control socket (descriptor BACKEND_CONTROL_FD of the backend program) carries four messages:
 *   backend -> plugin, once:        struct backend_hello
 *   plugin  -> backend, a run:      one byte CONTROL_RUN with the RUN_FD_COUNT descriptors of
 *                                   enum run_fd
 *   plugin  -> backend, a question: one byte CONTROL_POOL with a socket, on which the backend
 *                                   answers at once (pool_report.h)
 *   plugin  -> backend, a question: one byte CONTROL_PARTS, the same of what it works with
 *                                   (backend_parts.h); one that has none closes the socket
 * The broker of endpoints is greeted in the same way, and gets orders instead:
 *   plugin  -> broker, a run:       one byte CONTROL_ENDPOINTS with the EGRESS_FD_COUNT descriptors
 *                                   of enum egress_fd (egress_order.h)
 * After that, all about the run goes over its own socket (RUN_FD_EVENTS), whose other end the
 * calling thread keeps: no demultiplexing, and either side's death is the other's end of file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BACKEND_CONTROL_FD 3
#define CONTROL_RUN        'r'
#define CONTROL_POOL       'p'
#define CONTROL_PARTS      'a'
#define CONTROL_ENDPOINTS  'e'

struct backend_hello {
    uint32_t protocol_version;
    int32_t pid; /* in the plugin's pid namespace */
};

enum run_fd {
    RUN_FD_EVENTS,      /* the run's socket */
    RUN_FD_DESCRIPTION, /* memfd with the message of run_description_encode() */
    RUN_FD_STDIN,       /* open for reading: /dev/null or a sealed memfd */
    RUN_FD_STDOUT,      /* write end of a pipe */
    RUN_FD_STDERR,      /* write end of a pipe */
    RUN_FD_RESULTS,     /* write end of a pipe for the program's frames; /dev/null: not wanted */
    RUN_FD_FILES,       /* the same for the guest's frames of the files that the run has left */
    RUN_FD_INPUTS,      /* a socket with a datagram of one descriptor for each file by reference, in
                           their order; /dev/null: there are none */
    RUN_FD_TOOLS,       /* a stream socket, shut down for writing, on which the answers to calls of
                           tools arrive; /dev/null: the program has no tools */
    RUN_FD_ENDPOINTS,   /* a SOCK_SEQPACKET socket, on which the backend sends one datagram
                           EGRESS_INTAKE_LISTENER (egress_order.h) with the listening socket of
                           the run's endpoints; /dev/null: the program has none */
    RUN_FD_COUNT
};

/* Those that the program's own process is given. */
#define RUN_FD_FIRST_INSIDE RUN_FD_DESCRIPTION
#define RUN_FD_INSIDE_COUNT (RUN_FD_ENDPOINTS - RUN_FD_FIRST_INSIDE)

/* Sends one datagram without SIGPIPE; 0, or -1 with errno. The descriptors stay the caller's. */
int channel_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count);

/* Receives one datagram of at most capacity bytes and at most fd_capacity descriptors (all CLOEXEC,
 * the caller's to close; *ret_fd_count of them). The length, 0 at end of file, -1 with errno:
 * EMSGSIZE where the datagram was longer or brought more descriptors (they are closed), EAGAIN on a
 * non-blocking socket with nothing there. A peer that ends with datagrams unread has ended as any
 * other: what it has sent before comes first. */
ssize_t channel_receive(int socket, void *bytes, size_t capacity, int *fds, size_t fd_capacity,
                        size_t *ret_fd_count);

/* As channel_receive(), without waiting: EAGAIN. */
ssize_t channel_receive_fds_now(int socket, void *bytes, size_t capacity, int *fds,
                                size_t fd_capacity, size_t *ret_fd_count);

/* As channel_receive(), for a datagram that brings no descriptor, without waiting: EAGAIN. */
ssize_t channel_receive_now(int socket, void *bytes, size_t capacity);
