/* SPDX-License-Identifier: Apache-2.0 */
/* Taking the cells of the guest: see interpreter/cell/cell.h. Runs in the program of a session. */
#include "guest/session/guest_cell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "interpreter/cell/cell.h"
#include "protocol/wire.h"

#define FAILURE_LIMIT 299 /* bytes, as in struct cell */

/* Of the cell under way. */
static struct {
    unsigned char *code;
    char **arguments;
    char **environment;
} taken;

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
}

/* false: this is no cell, and neither is anything behind it. */
static bool receive_cell(int socket, int ret[GUEST_CELL_FDS], size_t *ret_count)
{
    char kind;
    struct iovec part = {.iov_base = &kind, .iov_len = sizeof(kind)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(GUEST_CELL_FDS * sizeof(int))];
    } control = {.space = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control.space)};
    ssize_t received;
    do
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    struct cmsghdr *header = received == sizeof(kind) ? CMSG_FIRSTHDR(&message) : NULL;
    size_t count = header ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    if (count != GUEST_CELL_ANSWERS && count != GUEST_CELL_FDS)
        return false; /* the guest sends no others */
    memcpy(ret, CMSG_DATA(header), count * sizeof(int));
    *ret_count = count;
    return true;
}

/* All of a file in memory, with a NUL behind it; NULL: that cannot be had. */
static unsigned char *read_all(int fd, size_t *ret_length)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return NULL;
    size_t length = (size_t)status.st_size;
    CLEANUP_FREE unsigned char *bytes = malloc(length + 1);
    for (size_t done = 0; bytes && done < length;) {
        ssize_t count = pread(fd, bytes + done, length - done, (off_t)done);
        if (count <= 0)
            return NULL;
        done += (size_t)count;
    }
    if (bytes)
        bytes[length] = '\0';
    *ret_length = length;
    return TAKE_POINTER(bytes);
}

static bool take_streams(const int fds[GUEST_CELL_FDS])
{
    return dup2(fds[GUEST_CELL_STDIN], STDIN_FILENO) >= 0 &&
           dup2(fds[GUEST_CELL_STDOUT], STDOUT_FILENO) >= 0 &&
           dup2(fds[GUEST_CELL_STDERR], STDERR_FILENO) >= 0 &&
           dup3(fds[GUEST_CELL_RESULTS], RUN_RESULTS_FD, O_CLOEXEC) >= 0;
}

static bool take_answers(const int fds[GUEST_CELL_FDS], bool has_tools)
{
    cell_answers_close();
    return !has_tools || cell_answers_put(fds[GUEST_CELL_ANSWERS]);
}

static void forget_last(void)
{
    free(taken.code);
    strings_wipe_free(taken.arguments);
    strings_wipe_free(taken.environment);
    taken.code = NULL;
    taken.arguments = taken.environment = NULL;
}

/* The arguments begin with a name that is not the cell's. */
static bool read_head(int fd, struct cell *ret)
{
    size_t length = 0;
    size_t failure_length = 0;
    CLEANUP_FREE unsigned char *bytes = read_all(fd, &length);
    struct wire_reader head = {.bytes = bytes, .length = length, .failed = !bytes};
    taken.arguments = wire_get_strings(&head, GUEST_STRINGS_LIMIT, GUEST_STRING_LIMIT);
    taken.environment = wire_get_strings(&head, GUEST_STRINGS_LIMIT, GUEST_STRING_LIMIT);
    ret->lasting = wire_get_u32(&head);
    CLEANUP_FREE unsigned char *failure = wire_get_bytes(&head, FAILURE_LIMIT, &failure_length);
    if (bytes)
        explicit_bzero(bytes, length);
    if (head.failed || !taken.arguments[0])
        return false;
    ret->arguments = taken.arguments + 1;
    ret->environment = taken.environment;
    (void)snprintf(ret->failure, sizeof(ret->failure), "%s", (const char *)failure);
    return true;
}

enum cell_state cell_take(int socket, struct cell *ret)
{
    int fds[GUEST_CELL_FDS];
    size_t count = 0;
    *ret = (struct cell){.code = NULL};
    forget_last();
    if (!receive_cell(socket, fds, &count))
        return CELL_NONE;
    ret->has_tools = count == GUEST_CELL_FDS;
    bool is_read = cell_answers_make_room(fds, count);
    ret->code = taken.code = read_all(fds[GUEST_CELL_CODE], &ret->code_length);
    is_read = is_read && taken.code && read_head(fds[GUEST_CELL_HEAD], ret) && take_streams(fds) &&
              take_answers(fds, ret->has_tools);
    close_all(fds, count);
    return is_read ? CELL_TAKEN : CELL_NONE;
}
