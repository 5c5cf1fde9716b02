/* SPDX-License-Identifier: Apache-2.0 */
/* The datagrams of cells: both forms arrive as they were sent, and nothing else is taken. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/session.h"
#include "protocol/session_cell.h"
#include "tap_suite.h"

#define STREAMS 4

static int pair[2];

static void open_pair(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void close_pair(void)
{
    close_fd(pair[0]);
    close_fd(pair[1]);
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Each of another pipe, so that they can be told apart. */
static void open_files(int *ret, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int ends[2];
        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
        close_fd(ends[1]);
        ret[i] = ends[0];
    }
}

static void close_files(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
}

static bool is_same(int one, int other)
{
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_ino == second.st_ino;
}

START_TEST(a_whole_cell_arrives)
{
    struct session_cell cell;
    int fds[SESSION_CELL_FDS];
    open_pair();
    open_files(fds, COUNT_OF(fds));
    int before = open_descriptors();
    ck_assert_int_eq(session_cell_send(pair[0], SESSION_CELL_CHECKPOINT, fds), 0);
    ck_assert(session_cell_receive(pair[1], true, &cell));
    ck_assert_int_eq(cell.kind, SESSION_CELL_CHECKPOINT);
    ck_assert(!cell.is_brief);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        ck_assert(is_same(cell.fds[i], fds[i]));
        ck_assert_int_eq(fcntl(cell.fds[i], F_GETFD), FD_CLOEXEC);
    }
    session_cell_clear(&cell);
    ck_assert_int_eq(open_descriptors(), before);
    close_files(fds, COUNT_OF(fds));
    close_pair();
}
END_TEST

START_TEST(a_brief_cell_arrives)
{
    static unsigned char description[SESSION_BRIEF_LIMIT];
    static const unsigned char none[sizeof(description)];
    struct session_cell cell;
    int streams[STREAMS];
    open_pair();
    open_files(streams, STREAMS);
    memset(description, 'd', sizeof(description));
    int before = open_descriptors();
    for (size_t length = 1; length <= sizeof(description); length = length * 2) {
        ck_assert_int_eq(
            session_cell_send_brief(pair[0], SESSION_CELL, description, length, streams), 0);
        ck_assert(session_cell_receive(pair[1], true, &cell));
        ck_assert_int_eq(cell.kind, SESSION_CELL);
        ck_assert(cell.is_brief);
        ck_assert_uint_eq(cell.length, length);
        ck_assert_int_eq(memcmp(cell.description, description, length), 0);
        for (size_t i = 0; i < STREAMS; i++)
            ck_assert(is_same(session_cell_fd(&cell, (enum run_fd)(RUN_FD_STDIN + i)), streams[i]));
        ck_assert_int_eq(session_cell_fd(&cell, RUN_FD_DESCRIPTION), -1);
        ck_assert_int_eq(session_cell_fd(&cell, RUN_FD_FILES), -1);
        ck_assert_int_eq(session_cell_fd(&cell, RUN_FD_INPUTS), -1);
        ck_assert_int_eq(session_cell_fd(&cell, RUN_FD_TOOLS), -1);
        session_cell_clear(&cell);
        ck_assert_int_eq(memcmp(cell.description, none, length), 0);
        ck_assert_int_eq(open_descriptors(), before);
    }
    close_files(streams, STREAMS);
    close_pair();
}
END_TEST

START_TEST(a_long_description_is_not_brief)
{
    static const unsigned char description[SESSION_BRIEF_LIMIT + 1] = {1};
    const int streams[STREAMS] = {0, 1, 2, 2};
    open_pair();
    ck_assert_int_eq(
        session_cell_send_brief(pair[0], SESSION_CELL, description, sizeof(description), streams),
        -1);
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_int_eq(session_cell_send_brief(pair[0], SESSION_CELL, description, 0, streams), -1);
    close_pair();
}
END_TEST

START_TEST(a_branch_is_asked_to_sleep)
{
    const char kind = SESSION_PARK;
    struct session_cell cell;
    open_pair();
    ck_assert_int_eq(channel_send(pair[0], &kind, 1, NULL, 0), 0);
    ck_assert(session_cell_receive(pair[1], true, &cell));
    ck_assert_int_eq(cell.kind, SESSION_PARK);
    session_cell_clear(&cell);
    close_pair();
}
END_TEST

/* Whatever else comes is closed, and said to be no cell. */
START_TEST(nothing_else_is_a_cell)
{
    static const struct {
        const char *bytes;
        size_t length;
        size_t fds;
    } others[] = {
        {"x", 1, 0},
        {"x", 1, STREAMS},
        {"x", 1, SESSION_CELL_FDS - 1},
        {"x", 1, SESSION_CELL_FDS + 1},
        {"xd", 2, 0},
        {"xd", 2, STREAMS - 1},
        {"xd", 2, STREAMS + 1},
        {"xd", 2, SESSION_CELL_FDS},
        {"p", 1, 1},
        {"pd", 2, 0},
        {"pd", 2, STREAMS},
        {"q", 1, SESSION_CELL_FDS},
        {"", 1, SESSION_CELL_FDS},
    };
    static const char long_one[SESSION_BRIEF_LIMIT + 2] = {SESSION_CELL};
    struct session_cell cell;
    int fds[SESSION_CELL_FDS + 1];
    open_pair();
    open_files(fds, COUNT_OF(fds));
    int before = open_descriptors();
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        ck_assert_int_eq(
            channel_send(pair[0], others[i].bytes, others[i].length, fds, others[i].fds), 0);
        ck_assert_msg(!session_cell_receive(pair[1], true, &cell), "%zu", i);
        ck_assert_int_ne(errno, EAGAIN);
        ck_assert_int_eq(open_descriptors(), before);
    }
    ck_assert_int_eq(channel_send(pair[0], long_one, sizeof(long_one), fds, STREAMS), 0);
    ck_assert(!session_cell_receive(pair[1], true, &cell));
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert(!session_cell_receive(pair[1], false, &cell));
    ck_assert_int_eq(errno, EAGAIN);
    close_fd(pair[0]);
    ck_assert(!session_cell_receive(pair[1], false, &cell));
    ck_assert_int_ne(errno, EAGAIN);
    close_fd(pair[1]);
    close_files(fds, COUNT_OF(fds));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("session cell");
    tcase_add_test(cases, a_whole_cell_arrives);
    tcase_add_test(cases, a_brief_cell_arrives);
    tcase_add_test(cases, a_long_description_is_not_brief);
    tcase_add_test(cases, a_branch_is_asked_to_sleep);
    tcase_add_test(cases, nothing_else_is_a_cell);
    return run_suite("session cell", &cases, 1);
}
