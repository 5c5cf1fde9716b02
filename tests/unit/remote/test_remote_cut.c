/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is cut behind any byte, in either direction: no descriptor is left, and each
 * run has not begun, or both sides hear that it is over. One thread. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "pair.h"
#include "protocol/session_cell.h"
#include "tap_suite.h"

#define STEP 13 /* bytes between two cuts; a record of TLS has at least 22 of its own */

static struct pair pair;
static size_t cuts_behind_begin;

static bool is_over(void)
{
    return !pair.gateway || !pair.worker;
}

/* Turns until it holds; false: the connection has ended before. */
#define REACHES(condition)                                           \
    ({                                                               \
        uint64_t limit_ms_ = monotonic_ms() + 60000;                 \
        while (!(condition) && !is_over()) {                         \
            HOLDS(monotonic_ms() < limit_ms_, "never: " #condition); \
            pair_turn(&pair, 5);                                     \
        }                                                            \
        (bool)(condition);                                           \
    })

static ssize_t read_now(int fd, void *bytes, size_t capacity)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 ? read(fd, bytes, capacity) : -1;
}

static void send_cell(struct test_run *run)
{
    int streams[4];
    for (size_t i = 0; i < 4; i++)
        streams[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    int out[2];
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    close_fd(streams[1]);
    streams[1] = out[1];
    (void)session_cell_send_brief(run->cells, 'x', (const unsigned char *)"cell", 4, streams);
    close_all(streams, 4);
    close_fd(out[0]);
}

/* What a session does, as far as it comes. */
static void work(struct test_run *run, const int *fds)
{
    const char order = CONTROL_RUN;
    char bytes[64];
    int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    (void)channel_send(run->inputs, &order, 1, &file, 1);
    close_fd(file);
    (void)send(run->tools, "answer", 6, MSG_NOSIGNAL);
    if (write(fds[RUN_FD_STDOUT], "out", 3) != 3 || !REACHES(read_now(run->output, bytes, 64) == 3))
        return;
    send_cell(run);
    struct session_cell cell;
    if (!REACHES(session_cell_receive(fds[RUN_FD_STDIN], false, &cell)))
        return;
    session_cell_clear(&cell);
    (void)send(run->events, "c", 1, MSG_NOSIGNAL);
    if (!REACHES(read_now(fds[RUN_FD_EVENTS], bytes, 64) == 1))
        return;
    if (send(fds[RUN_FD_EVENTS], "ended", 5, MSG_NOSIGNAL) == 5)
        (void)REACHES(read_now(run->events, bytes, 64) == 5);
}

static bool has_ended(int fd)
{
    char bytes[64];
    ssize_t count;
    do
        count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    while (count > 0);
    return count == 0 || errno != EAGAIN;
}

/* A run from its offer on. Returns whether it came to its end without the cut. */
static bool live(void)
{
    const struct remote_offer offer = {.wall_ms = 1};
    const struct run_wish wish = {.description = "description",
                                  .description_length = 11,
                                  .results = true,
                                  .files = true,
                                  .tools = true,
                                  .session = true,
                                  .inputs = true,
                                  .endpoints = true};
    struct test_run run;
    int fds[RUN_FD_COUNT];
    pair.accepts = true;
    if (!REACHES(pair.at_gateway.ready && pair.at_worker.ready))
        return false;
    uint32_t channel = link_offer(pair.gateway, &offer);
    pair.asked = channel;
    if (channel == 0 || !REACHES(pair.at_gateway.answers == 1))
        return false;
    ck_assert(!link_run_begun(pair.gateway, channel));
    run_make(&wish, &run, fds);
    bool is_sent = link_send_run(pair.gateway, channel, fds);
    bool is_there = is_sent && REACHES(pair.at_worker.arrivals == 1);
    int *given = pair.at_worker.fds[0];
    if (is_there)
        work(&run, given);
    bool is_whole = !is_over();
    if (is_whole) {
        close_all(given, RUN_FD_COUNT);
        run_close(&run);
        return REACHES(pair.at_gateway.ends == 1 && pair.at_worker.ends == 1);
    }
    /* Both sides are told, or it has not begun. */
    while (pair.gateway || pair.worker)
        pair_turn(&pair, 5);
    HOLDS(pair.at_worker.arrivals == 0 || pair.has_begun, "it ran, and may run again");
    cuts_behind_begin += pair.has_begun;
    ck_assert(has_ended(run.events));
    if (pair.at_worker.arrivals == 1) {
        ck_assert(has_ended(given[RUN_FD_EVENTS]));
        close_all(given, RUN_FD_COUNT);
    }
    run_close(&run);
    return false;
}

/* false: nothing was cut any more. */
static bool cut_at(size_t to_worker, size_t to_gateway, size_t *ret_descriptors)
{
    size_t before = count_descriptors();
    pair = (struct pair){.cut_to_gateway = to_gateway, .cut_to_worker = to_worker};
    pair_begin(&pair);
    bool was_whole = live();
    if (pair.at_worker.arrivals > 0)
        close_all(pair.at_worker.fds[0], RUN_FD_COUNT);
    pair_end(&pair);
    *ret_descriptors = count_descriptors();
    HOLDS(*ret_descriptors == before, "cut at %zu and %zu: %zu descriptors, and %zu before",
          to_worker, to_gateway, *ret_descriptors, before);
    return !was_whole;
}

START_TEST(cut_on_the_way_to_the_worker)
{
    size_t descriptors;
    size_t at = 0;
    while (cut_at(at, SIZE_MAX, &descriptors))
        at += STEP;
    ck_assert_uint_gt(at, 2000); /* a handshake and a run */
    ck_assert_uint_gt(cuts_behind_begin, 10);
}
END_TEST

START_TEST(cut_on_the_way_to_the_gateway)
{
    size_t descriptors;
    size_t at = 0;
    while (cut_at(SIZE_MAX, at, &descriptors))
        at += STEP;
    ck_assert_uint_gt(at, 1000);
}
END_TEST

int main(void)
{
    TCase *cut = tcase_create("cut");
    tcase_add_unchecked_fixture(cut, pair_setup, pair_teardown);
    tcase_set_timeout(cut, 120);
    tcase_add_test(cut, cut_on_the_way_to_the_worker);
    tcase_add_test(cut, cut_on_the_way_to_the_gateway);
    return run_suite("remote cut", &cut, 1);
}
