/* SPDX-License-Identifier: Apache-2.0 */
/* Owns two links and what goes on between them: see pair.h. */
#include "pair.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "backends/remote/link/remote_frame.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "certificates.h"
#include "protocol/run_event.h"
#include "tap_suite.h"

static struct tls_context *gateway_context, *worker_context;

void pair_setup(void)
{
    struct error error;
    (void)signal(SIGPIPE, SIG_IGN);
    certificates_begin();
    certificates_make_usual();
    gateway_context = context_of(false, "authority", "gateway", &error);
    HOLDS(gateway_context, "%s", error.message);
    worker_context = context_of(true, "authority", "worker", &error);
    HOLDS(worker_context, "%s", error.message);
}

void pair_teardown(void)
{
    tls_context_free(gateway_context);
    tls_context_free(worker_context);
    certificates_remove();
}

static struct heard *heard_by(struct pair *pair, const struct link *link)
{
    return link == pair->worker ? &pair->at_worker : &pair->at_gateway;
}

static void on_ready(void *user, struct link *link, const struct remote_hello *peer)
{
    struct heard *heard = heard_by(user, link);
    heard->ready = true;
    heard->hello = *peer;
}

static void on_offered(void *user, struct link *link, uint32_t channel,
                       const struct remote_offer *offer)
{
    struct pair *pair = user;
    const struct remote_answer answer = {.verdict = REMOTE_ACCEPTED};
    (void)offer;
    pair->at_worker.offered[pair->at_worker.offers++ % PAIR_RUNS] = channel;
    if (pair->accepts)
        link_answer(link, channel, &answer);
}

static void on_answered(void *user, struct link *link, uint32_t channel,
                        const struct remote_answer *answer)
{
    struct pair *pair = user;
    (void)link;
    pair->at_gateway.answers++;
    pair->at_gateway.answered = channel;
    pair->at_gateway.verdict = answer->verdict;
}

static void on_capacity(void *user, struct link *link, const struct remote_capacity *capacity)
{
    struct pair *pair = user;
    (void)link;
    pair->at_gateway.capacities++;
    pair->at_gateway.capacity = *capacity;
}

static void on_draining(void *user, struct link *link)
{
    struct pair *pair = user;
    (void)link;
    pair->at_gateway.draining = true;
}

static void on_arrived(void *user, struct link *link, uint32_t channel, int fds[RUN_FD_COUNT])
{
    struct pair *pair = user;
    size_t place = pair->at_worker.arrivals++ % PAIR_RUNS;
    (void)link;
    pair->at_worker.arrived[place] = channel;
    memcpy(pair->at_worker.fds[place], fds, sizeof(pair->at_worker.fds[place]));
}

static bool on_describe(void *user, struct link *link, uint32_t channel, unsigned char **bytes,
                        size_t *length)
{
    struct pair *pair = user;
    (void)link, (void)channel;
    pair->at_worker.descriptions++;
    return !pair->describe || pair->describe(bytes, length);
}

static void on_run_over(void *user, struct link *link, uint32_t channel)
{
    struct heard *heard = heard_by(user, link);
    heard->ended[heard->ends++ % PAIR_RUNS] = channel;
}

static const struct link_handler handler = {
    .ready = on_ready,
    .offered = on_offered,
    .answered = on_answered,
    .capacity = on_capacity,
    .draining = on_draining,
    .arrived = on_arrived,
    .describe = on_describe,
    .describe_further = on_describe,
    .run_over = on_run_over,
};

static void make_proxy(struct pair *pair, int ret_ends[2])
{
    int near[2];
    int far[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, near), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, far), 0);
    ret_ends[0] = near[0];
    ret_ends[1] = far[0];
    pair->proxy[0] = near[1];
    pair->proxy[1] = far[1];
}

void pair_begin(struct pair *pair)
{
    static const char *const worker_names[] = {"worker.test"};
    static const char *const gateway_names[] = {"gateway.test"};
    const struct link_peer worker = {worker_names, 1};
    const struct link_peer gateway = {gateway_names, 1};
    struct remote_hello hello = {
        .link_version = REMOTE_LINK_VERSION, .protocol_version = PROTOCOL_VERSION, .name = "g"};
    int ends[2];
    pair->proxy[0] = pair->proxy[1] = -1;
    if (pair->cut_to_gateway != SIZE_MAX || pair->cut_to_worker != SIZE_MAX)
        make_proxy(pair, ends);
    else
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pair->gateway = link_new(ends[0], gateway_context, false, &worker, &hello, &handler, pair);
    hello = (struct remote_hello){.link_version = REMOTE_LINK_VERSION,
                                  .protocol_version = PROTOCOL_VERSION,
                                  .name = "w",
                                  .mode = "process",
                                  .memory_bytes = 1 << 30,
                                  .processors = 2,
                                  .slots = 4};
    pair->worker = link_new(ends[1], worker_context, true, &gateway, &hello, &handler, pair);
    ck_assert(pair->gateway && pair->worker);
}

void pair_end(struct pair *pair)
{
    link_free(TAKE_POINTER(pair->gateway));
    link_free(TAKE_POINTER(pair->worker));
    close_fd(TAKE_FD(pair->proxy[0]));
    close_fd(TAKE_FD(pair->proxy[1]));
}

void pair_open(struct pair *pair)
{
    *pair = (struct pair){
        .cut_to_gateway = SIZE_MAX, .cut_to_worker = SIZE_MAX, .open_before = count_descriptors()};
    pair_begin(pair);
}

void pair_close(struct pair *pair)
{
    pair_end(pair);
    ck_assert_uint_eq(count_descriptors(), pair->open_before);
}

/* Some bytes in one direction. */
static void pass(struct pair *pair, int from, int to, size_t *left)
{
    char bytes[4096];
    size_t most = *left < sizeof(bytes) ? *left : sizeof(bytes);
    ssize_t count = most > 0 ? recv(from, bytes, most, MSG_DONTWAIT) : 0;
    if (count < 0 && errno == EAGAIN)
        return;
    if (count > 0 && send(to, bytes, (size_t)count, MSG_NOSIGNAL) == count &&
        *left > (size_t)count) {
        *left -= (size_t)count;
        return;
    }
    pair->is_cut = true;
}

static void turn_proxy(struct pair *pair)
{
    if (pair->proxy[0] < 0)
        return;
    pass(pair, pair->proxy[0], pair->proxy[1], &pair->cut_to_worker);
    pass(pair, pair->proxy[1], pair->proxy[0], &pair->cut_to_gateway);
    if (pair->is_cut) {
        close_fd(TAKE_FD(pair->proxy[0]));
        close_fd(TAKE_FD(pair->proxy[1]));
    }
}

static uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void pair_turn(struct pair *pair, int wait_ms)
{
    struct link *const links[] = {pair->gateway, pair->worker};
    struct pollfd entries[4];
    for (size_t i = 0; i < 2; i++) {
        entries[i] = (struct pollfd){.fd = -1};
        if (links[i])
            entries[i] = (struct pollfd){link_fd(links[i]), POLLIN, 0};
        if (links[i] && link_deadline_us(links[i]) <= now_us())
            wait_ms = 0;
        entries[2 + i] = (struct pollfd){pair->proxy[i], POLLIN, 0};
    }
    (void)poll(entries, 4, wait_ms);
    turn_proxy(pair);
    if (pair->gateway && !link_handle(pair->gateway, now_us())) {
        pair->gateway_error = *link_error(pair->gateway);
        pair->has_begun = link_run_begun(pair->gateway, pair->asked);
        link_free(TAKE_POINTER(pair->gateway));
    }
    if (pair->worker && !link_handle(pair->worker, now_us())) {
        pair->worker_error = *link_error(pair->worker);
        link_free(TAKE_POINTER(pair->worker));
    }
}

uint32_t pair_accept(struct pair *pair)
{
    const struct remote_offer offer = {.memory_bytes = 1 << 20, .wall_ms = 1000};
    size_t answers = pair->at_gateway.answers + 1;
    pair->accepts = true;
    PAIR_UNTIL(pair, pair->at_gateway.ready && pair->at_worker.ready);
    uint32_t channel = link_offer(pair->gateway, &offer);
    ck_assert_uint_ne(channel, 0);
    PAIR_UNTIL(pair, pair->at_gateway.answers == answers);
    ck_assert_uint_eq(pair->at_gateway.answered, channel);
    ck_assert_uint_eq(pair->at_gateway.verdict, REMOTE_ACCEPTED);
    return channel;
}

static int make_file(const void *bytes, size_t length)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    ck_assert(fd >= 0 && pwrite(fd, bytes, length, 0) == (ssize_t)length);
    return fd;
}

static int make_nowhere(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void make_pipe(bool is_wanted, int *ret_read, int *ret_write)
{
    int ends[2];
    *ret_read = -1;
    *ret_write = -1;
    if (!is_wanted) {
        *ret_write = make_nowhere();
        return;
    }
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    *ret_read = ends[0];
    *ret_write = ends[1];
}

static void make_socket(bool is_wanted, int type, int *ret_outer, int *ret_inner)
{
    int pair[2];
    *ret_outer = -1;
    if (!is_wanted) {
        *ret_inner = make_nowhere();
        return;
    }
    ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(shutdown(pair[1], SHUT_WR), 0);
    *ret_outer = pair[0];
    *ret_inner = pair[1];
}

void run_make(const struct run_wish *wish, struct test_run *ret, int fds[RUN_FD_COUNT])
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ret->events = pair[0];
    fds[RUN_FD_EVENTS] = pair[1];
    fds[RUN_FD_DESCRIPTION] = make_file(wish->description, wish->description_length);
    make_pipe(true, &ret->output, &fds[RUN_FD_STDOUT]);
    make_pipe(true, &ret->errors, &fds[RUN_FD_STDERR]);
    make_pipe(wish->results, &ret->results, &fds[RUN_FD_RESULTS]);
    make_pipe(wish->files, &ret->files, &fds[RUN_FD_FILES]);
    make_socket(wish->tools, SOCK_STREAM, &ret->tools, &fds[RUN_FD_TOOLS]);
    make_socket(wish->inputs, SOCK_SEQPACKET, &ret->inputs, &fds[RUN_FD_INPUTS]);
    make_socket(wish->session, SOCK_SEQPACKET, &ret->cells, &fds[RUN_FD_STDIN]);
    if (wish->input) {
        close_fd(fds[RUN_FD_STDIN]);
        fds[RUN_FD_STDIN] = make_file(wish->input, wish->input_length);
    }
    fds[RUN_FD_ENDPOINTS] = -1;
    ret->endpoints = -1;
    if (wish->endpoints) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        ret->endpoints = pair[0];
        fds[RUN_FD_ENDPOINTS] = pair[1];
    } else {
        fds[RUN_FD_ENDPOINTS] = make_nowhere();
    }
}

void run_close(struct test_run *run)
{
    close_fd(TAKE_FD(run->events));
    close_fd(TAKE_FD(run->output));
    close_fd(TAKE_FD(run->errors));
    close_fd(TAKE_FD(run->results));
    close_fd(TAKE_FD(run->files));
    close_fd(TAKE_FD(run->tools));
    close_fd(TAKE_FD(run->cells));
    close_fd(TAKE_FD(run->inputs));
    close_fd(TAKE_FD(run->endpoints));
}

size_t run_begin(struct pair *pair, const struct run_wish *wish, struct test_run *ret)
{
    int fds[RUN_FD_COUNT];
    size_t place = pair->at_worker.arrivals;
    uint32_t channel = pair_accept(pair);
    run_make(wish, ret, fds);
    ret->channel = channel;
    ck_assert(link_send_run(pair->gateway, channel, fds));
    PAIR_UNTIL(pair, pair->at_worker.arrivals > place);
    ck_assert_uint_eq(pair->at_worker.arrived[place % PAIR_RUNS], channel);
    return place % PAIR_RUNS;
}

void close_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close_fd(TAKE_FD(fds[i]));
}

size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *stream = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(stream);
    while (readdir(stream))
        count++;
    (void)closedir(stream);
    return count;
}

/* Without waiting, whatever the descriptor's mode is. */
static ssize_t read_now(int fd, void *bytes, size_t capacity)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 ? read(fd, bytes, capacity) : -1;
}

void hears(struct pair *pair, int fd, const char *expected)
{
    char bytes[256] = "";
    size_t length = 0;
    while (length < strlen(expected)) {
        ssize_t count = 0;
        PAIR_UNTIL(pair, (count = read_now(fd, bytes + length, sizeof(bytes) - 1 - length)) > 0);
        length += (size_t)count;
    }
    ck_assert_str_eq(bytes, expected);
}

void ends(struct pair *pair, int fd)
{
    char byte;
    PAIR_UNTIL(pair, read_now(fd, &byte, 1) == 0);
}
