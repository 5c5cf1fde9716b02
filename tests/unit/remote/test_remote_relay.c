/* SPDX-License-Identifier: Apache-2.0 */
/* Runs over a connection: each descriptor of the local protocol arrives as one of the same kind,
 * and says the same. Real TLS, sockets, pipes and files. One thread. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "pair.h"
#include "protocol/session.h"
#include "protocol/session_cell.h"
#include "tap_suite.h"

static struct pair pair;

static const struct run_wish plain = {.description = "what to run", .description_length = 11};

static int *at_worker(size_t place)
{
    return pair.at_worker.fds[place];
}

static void say(int fd, const void *bytes, size_t length)
{
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
}

static bool is_quiet(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static void reads_file(int fd, const char *expected)
{
    char bytes[256] = "";
    ck_assert_int_eq(pread(fd, bytes, sizeof(bytes) - 1, 0), (ssize_t)strlen(expected));
    ck_assert_str_eq(bytes, expected);
    ck_assert_int_ge(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE);
}

START_TEST(both_sides_greet)
{
    pair_open(&pair);
    PAIR_UNTIL(&pair, pair.at_gateway.ready && pair.at_worker.ready);
    ck_assert_str_eq(pair.at_gateway.hello.name, "w");
    ck_assert_str_eq(pair.at_gateway.hello.mode, "process");
    ck_assert_uint_eq(pair.at_gateway.hello.slots, 4);
    ck_assert_str_eq(pair.at_worker.hello.name, "g");
    ck_assert_str_eq(link_peer_name(pair.gateway), "worker.test");
    ck_assert_str_eq(link_peer_name(pair.worker), "gateway.test");
    pair_close(&pair);
}
END_TEST

START_TEST(a_run_has_all_its_descriptors)
{
    struct test_run run;
    const struct run_wish wish = {.description = "what to run",
                                  .description_length = 11,
                                  .input = "input",
                                  .input_length = 5,
                                  .results = true,
                                  .files = true,
                                  .tools = true};
    pair_open(&pair);
    int *fds = at_worker(run_begin(&pair, &wish, &run));
    reads_file(fds[RUN_FD_DESCRIPTION], "what to run");
    reads_file(fds[RUN_FD_STDIN], "input");
    say(fds[RUN_FD_STDOUT], "out", 3);
    say(fds[RUN_FD_STDERR], "err", 3);
    say(fds[RUN_FD_RESULTS], "results", 7);
    say(fds[RUN_FD_FILES], "files", 5);
    say(fds[RUN_FD_EVENTS], "event", 5);
    hears(&pair, run.events, "event");
    hears(&pair, run.output, "out");
    hears(&pair, run.errors, "err");
    hears(&pair, run.results, "results");
    hears(&pair, run.files, "files");
    say(run.tools, "answer", 6);
    hears(&pair, fds[RUN_FD_TOOLS], "answer");
    say(run.events, "c", 1);
    hears(&pair, fds[RUN_FD_EVENTS], "c");
    ck_assert(is_quiet(run.events));
    /* The backend's ends go, and with them the plugin's. */
    close_all(fds, RUN_FD_COUNT);
    ends(&pair, run.output);
    ends(&pair, run.errors);
    ends(&pair, run.results);
    ends(&pair, run.files);
    ends(&pair, run.events);
    ck_assert(send(run.tools, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
    run_close(&run);
    PAIR_UNTIL(&pair, pair.at_gateway.ends == 1 && pair.at_worker.ends == 1);
    ck_assert_uint_eq(pair.at_gateway.ended[0], run.channel);
    pair_close(&pair);
}
END_TEST

START_TEST(what_the_plugin_closes_is_closed)
{
    struct test_run run;
    const struct run_wish wish = {.description = "d", .description_length = 1, .tools = true};
    pair_open(&pair);
    int *fds = at_worker(run_begin(&pair, &wish, &run));
    run_close(&run);
    ends(&pair, fds[RUN_FD_EVENTS]);
    ends(&pair, fds[RUN_FD_TOOLS]);
    PAIR_UNTIL(&pair, write(fds[RUN_FD_STDOUT], "x", 1) < 0);
    ck_assert_int_eq(errno, EPIPE);
    close_all(fds, RUN_FD_COUNT);
    PAIR_UNTIL(&pair, pair.at_gateway.ends == 1 && pair.at_worker.ends == 1);
    pair_close(&pair);
}
END_TEST

static int file_of(const char *text)
{
    char path[] = "/tmp/remote-relay-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(unlink(path), 0);
    say(fd, text, strlen(text));
    return fd;
}

#define FILE_TEXT 32

/* One of them is empty. */
static void name_file(int number, char ret[FILE_TEXT])
{
    ret[0] = '\0';
    if (number != 7)
        (void)snprintf(ret, FILE_TEXT, "file %d", number);
}

START_TEST(input_files_come_in_their_order)
{
    struct test_run run;
    const struct run_wish wish = {.description = "d", .description_length = 1, .inputs = true};
    char text[FILE_TEXT];
    pair_open(&pair);
    int *fds = at_worker(run_begin(&pair, &wish, &run));
    for (int i = 0; i < 300; i++) {
        const char order = CONTROL_RUN;
        name_file(i, text);
        CLEANUP_CLOSE int file = file_of(text);
        PAIR_UNTIL(&pair, channel_send(run.inputs, &order, 1, &file, 1) == 0);
        if (i % 16 == 0)
            pair_turn(&pair, 0);
    }
    close_fd(TAKE_FD(run.inputs));
    for (int i = 0; i < 300; i++) {
        char order;
        int file = -1;
        size_t count = 0;
        PAIR_UNTIL(&pair,
                   channel_receive_fds_now(fds[RUN_FD_INPUTS], &order, 1, &file, 1, &count) == 1);
        ck_assert_uint_eq(count, 1);
        name_file(i, text);
        reads_file(file, text);
        close_fd(file);
    }
    ends(&pair, fds[RUN_FD_INPUTS]);
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

static void make_cell_pipe(int ends[2])
{
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
}

/* A cell with tools and files: all descriptors that it can have. */
static void run_whole_cell(int cells, int worker_cells)
{
    int fds[SESSION_CELL_FDS];
    int out[2], err[2], results[2];
    make_cell_pipe(out);
    make_cell_pipe(err);
    make_cell_pipe(results);
    for (size_t i = 0; i < SESSION_CELL_FDS; i++)
        fds[i] = -1;
    fds[0] = file_of("cell");
    fds[RUN_FD_STDOUT - RUN_FD_FIRST_INSIDE] = out[1];
    fds[RUN_FD_STDERR - RUN_FD_FIRST_INSIDE] = err[1];
    fds[RUN_FD_RESULTS - RUN_FD_FIRST_INSIDE] = results[1];
    for (size_t i = 0; i < SESSION_CELL_FDS; i++)
        if (fds[i] < 0)
            fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(session_cell_send(cells, SESSION_CELL, fds), 0);
    close_all(fds, SESSION_CELL_FDS);
    struct session_cell cell;
    PAIR_UNTIL(&pair, session_cell_receive(worker_cells, false, &cell));
    ck_assert_int_eq(cell.kind, SESSION_CELL);
    ck_assert(!cell.is_brief);
    reads_file(session_cell_fd(&cell, RUN_FD_DESCRIPTION), "cell");
    struct stat facts;
    ck_assert_int_eq(fstat(session_cell_fd(&cell, RUN_FD_STDOUT), &facts), 0);
    ck_assert_uint_eq(facts.st_mode & 0777, 0666);
    say(session_cell_fd(&cell, RUN_FD_RESULTS), "end", 3);
    hears(&pair, results[0], "end");
    session_cell_clear(&cell);
    ends(&pair, out[0]);
    ends(&pair, err[0]);
    ends(&pair, results[0]);
    close_fd(out[0]);
    close_fd(err[0]);
    close_fd(results[0]);
}

static void run_brief_cell(int cells, int worker_cells)
{
    int out[2], err[2], results[2];
    make_cell_pipe(out);
    make_cell_pipe(err);
    make_cell_pipe(results);
    int streams[] = {open("/dev/null", O_RDONLY | O_CLOEXEC), out[1], err[1], results[1]};
    ck_assert_int_eq(session_cell_send_brief(cells, SESSION_CELL_CHECKPOINT,
                                             (const unsigned char *)"brief", 5, streams),
                     0);
    close_all(streams, COUNT_OF(streams));
    struct session_cell cell;
    PAIR_UNTIL(&pair, session_cell_receive(worker_cells, false, &cell));
    ck_assert_int_eq(cell.kind, SESSION_CELL_CHECKPOINT);
    ck_assert(cell.is_brief && cell.length == 5);
    say(session_cell_fd(&cell, RUN_FD_STDOUT), "text", 4);
    say(session_cell_fd(&cell, RUN_FD_RESULTS), "end", 3);
    hears(&pair, results[0], "end");
    char text[8];
    ck_assert_int_eq(read(out[0], text, sizeof(text)), 4); /* it was there before */
    session_cell_clear(&cell);
    ends(&pair, err[0]);
    close_fd(out[0]);
    close_fd(err[0]);
    close_fd(results[0]);
}

START_TEST(cells_go_through_the_socket_of_the_input)
{
    struct test_run run;
    const struct run_wish wish = {.description = "d", .description_length = 1, .session = true};
    pair_open(&pair);
    int *fds = at_worker(run_begin(&pair, &wish, &run));
    for (int i = 0; i < 20; i++) {
        run_whole_cell(run.cells, fds[RUN_FD_STDIN]);
        run_brief_cell(run.cells, fds[RUN_FD_STDIN]);
    }
    /* Nothing comes out of it, and no descriptor at all. */
    ck_assert(send(fds[RUN_FD_STDIN], "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
    /* An order with descriptors: what the session has left. */
    const struct session_order order = {.kind = SESSION_ORDER_COLLECT};
    int files[2];
    make_cell_pipe(files);
    int given[] = {file_of("collect"), files[1]};
    ck_assert_int_eq(channel_send(run.events, &order, sizeof(order), given, 2), 0);
    close_all(given, 2);
    struct session_order seen;
    int got[4];
    size_t count = 0;
    PAIR_UNTIL(&pair, channel_receive_fds_now(fds[RUN_FD_EVENTS], &seen, sizeof(seen), got, 4,
                                              &count) == sizeof(seen));
    ck_assert_uint_eq(count, 2);
    reads_file(got[0], "collect");
    ck_assert_uint_eq(pair.at_worker.descriptions, 1 + 20 + 1); /* all that are files */
    say(got[1], "frames", 6);
    hears(&pair, files[0], "frames");
    close_all(got, 2);
    ends(&pair, files[0]);
    close_fd(files[0]);
    close_fd(TAKE_FD(run.cells));
    ends(&pair, fds[RUN_FD_STDIN]);
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    PAIR_UNTIL(&pair, pair.at_gateway.ends == 1 && pair.at_worker.ends == 1);
    pair_close(&pair);
}
END_TEST

static bool replace(unsigned char **bytes, size_t *length)
{
    ck_assert_uint_eq(*length, 11);
    ck_assert_int_eq(memcmp(*bytes, "what to run", 11), 0);
    free(*bytes);
    *bytes = (unsigned char *)strdup("another");
    *length = 7;
    return true;
}

START_TEST(the_worker_may_replace_a_description)
{
    struct test_run run;
    pair_open(&pair);
    pair.describe = replace;
    int *fds = at_worker(run_begin(&pair, &plain, &run));
    reads_file(fds[RUN_FD_DESCRIPTION], "another");
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

int main(void)
{
    TCase *relay = tcase_create("relay");
    tcase_add_unchecked_fixture(relay, pair_setup, pair_teardown);
    tcase_add_test(relay, both_sides_greet);
    tcase_add_test(relay, a_run_has_all_its_descriptors);
    tcase_add_test(relay, what_the_plugin_closes_is_closed);
    tcase_add_test(relay, input_files_come_in_their_order);
    tcase_add_test(relay, cells_go_through_the_socket_of_the_input);
    tcase_add_test(relay, the_worker_may_replace_a_description);
    return run_suite("remote relay", &relay, 1);
}
