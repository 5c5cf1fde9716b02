/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker, or a gateway, says behind the handshake: whatever the frames and the cuts, the
 * other side's link ends with words or goes on, and leaves no descriptor. Everything is real but
 * TLS, whose functions are wrapped here (meson.build). The first byte says which side is fed: "s"
 * the worker's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/remote/link/link.h"
#include "backends/remote/link/remote_frame.h"
#include "backends/remote/link/tls_private.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "fuzz.h"
#include "protocol/run_event.h"

#define RUNS 3

/* What is read next, behind a byte on the socket that wakes the link. */
static const uint8_t *source;
static size_t left;
static int inside;
static int last_error;

int __wrap_SSL_do_handshake(SSL *ssl);
int __wrap_SSL_read_ex(SSL *ssl, void *bytes, size_t capacity, size_t *ret_count);
int __wrap_SSL_write_ex(SSL *ssl, const void *bytes, size_t length, size_t *ret_count);
int __wrap_SSL_get_error(const SSL *ssl, int result);
ptrdiff_t __wrap_tls_match_name(SSL *ssl, const char *const *names, size_t count, char *ret_names,
                                size_t capacity);

int __wrap_SSL_do_handshake(SSL *ssl)
{
    (void)ssl;
    return 1;
}

int __wrap_SSL_read_ex(SSL *ssl, void *bytes, size_t capacity, size_t *ret_count)
{
    char byte;
    (void)ssl;
    size_t count = left < capacity ? left : capacity;
    (void)!read(inside, &byte, 1);
    if (count == 0) {
        last_error = SSL_ERROR_WANT_READ;
        return 0;
    }
    memcpy(bytes, source, count);
    source += count;
    left -= count;
    *ret_count = count;
    return 1;
}

int __wrap_SSL_write_ex(SSL *ssl, const void *bytes, size_t length, size_t *ret_count)
{
    (void)ssl, (void)bytes;
    *ret_count = length;
    return 1;
}

int __wrap_SSL_get_error(const SSL *ssl, int result)
{
    (void)ssl, (void)result;
    return last_error;
}

ptrdiff_t __wrap_tls_match_name(SSL *ssl, const char *const *names, size_t count, char *ret_names,
                                size_t capacity)
{
    (void)ssl, (void)names, (void)capacity;
    ret_names[0] = '\0';
    return count > 0 ? 0 : -1;
}

static size_t accepted, arrived;

static void on_offered(void *user, struct link *link, uint32_t channel,
                       const struct remote_offer *offer)
{
    const struct remote_answer busy = {.verdict = REMOTE_BUSY, .reason = "busy"};
    const struct remote_answer yes = {.verdict = REMOTE_ACCEPTED};
    (void)user;
    MUST(offer->purpose < 16);
    accepted += channel % 4 != 0;
    link_answer(link, channel, channel % 4 == 0 ? &busy : &yes);
}

static void on_arrived(void *user, struct link *link, uint32_t channel, int fds[RUN_FD_COUNT])
{
    (void)user;
    arrived++;
    for (size_t i = 0; i < RUN_FD_COUNT; i++) {
        MUST(fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
        /* The backend says something, and ends. */
        if (i != RUN_FD_DESCRIPTION)
            (void)!write(fds[i], "text", 4);
    }
    if (channel % 3 == 0)
        link_withdraw(link, channel);
    for (size_t i = 0; i < RUN_FD_COUNT; i++)
        close_fd(fds[i]);
}

static bool on_describe(void *user, struct link *link, uint32_t channel, unsigned char **bytes,
                        size_t *length)
{
    (void)user, (void)link;
    MUST(*bytes != NULL);
    for (size_t i = 0; i < *length; i++)
        (*bytes)[i] ^= 1;
    return channel % 5 != 0;
}

static int plugin_ends[RUNS][4];

static void make_run(size_t number, int fds[RUN_FD_COUNT])
{
    int *ours = plugin_ends[number];
    int pair[2];
    for (size_t i = 0; i < RUN_FD_COUNT; i++)
        fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < 4; i++) {
        static const int places[] = {RUN_FD_EVENTS, RUN_FD_STDOUT, RUN_FD_RESULTS, RUN_FD_STDIN};
        bool is_pipe = places[i] == RUN_FD_STDOUT || places[i] == RUN_FD_RESULTS;
        MUST((is_pipe ? pipe2(pair, O_CLOEXEC | O_NONBLOCK)
                      : socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) == 0);
        close_fd(fds[places[i]]);
        fds[places[i]] = pair[1];
        ours[i] = pair[0];
    }
    close_fd(fds[RUN_FD_DESCRIPTION]);
    fds[RUN_FD_DESCRIPTION] = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(write(fds[RUN_FD_DESCRIPTION], "description", 11) == 11);
    if (number > 0) /* the plugin is gone already */
        close_fd(TAKE_FD(ours[number]));
}

static void on_answered(void *user, struct link *link, uint32_t channel,
                        const struct remote_answer *answer)
{
    int fds[RUN_FD_COUNT];
    (void)user;
    if (answer->verdict != REMOTE_ACCEPTED || accepted >= RUNS)
        return;
    make_run(accepted++, fds);
    (void)link_send_run(link, channel, fds);
}

static const struct link_handler handler = {
    .offered = on_offered,
    .arrived = on_arrived,
    .describe = on_describe,
    .describe_further = on_describe,
    .answered = on_answered,
};

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *stream = opendir("/proc/self/fd");
    MUST(stream != NULL);
    while (readdir(stream))
        count++;
    (void)closedir(stream);
    return count;
}

static bool feed(struct link *link, const void *bytes, size_t length)
{
    uint64_t now_us = monotonic_ms() * 1000;
    source = bytes;
    left = length;
    for (int i = 0; left > 0; i++) {
        MUST(i < 1000);
        if (!link_handle(link, now_us))
            return false;
    }
    return link_handle(link, now_us);
}

static bool greet(struct link *link)
{
    uint8_t greeting[REMOTE_HEADER + REMOTE_MESSAGE_LIMIT];
    const struct remote_hello hello = {
        .link_version = REMOTE_LINK_VERSION, .protocol_version = PROTOCOL_VERSION, .name = "fuzz"};
    size_t length = remote_hello_encode(&hello, greeting + REMOTE_HEADER);
    const struct remote_header header = {(uint32_t)length, REMOTE_HELLO, 0};
    remote_header_put(greeting, &header);
    return feed(link, greeting, REMOTE_HEADER + length);
}

static void feed_all(struct link *link, int outside, const struct fuzz_input *input)
{
    size_t begin = 0;
    bool goes_on = greet(link);
    MUST(goes_on);
    for (size_t i = 0; i < RUNS; i++)
        (void)link_offer(link, &(struct remote_offer){.wall_ms = 1});
    for (size_t i = 0; goes_on && begin < input->length; i++) {
        size_t length = fuzz_slice(input, i, input->length - begin);
        uint8_t *slice = fuzz_exact(input->bytes + begin, length);
        MUST(write(outside, "x", 1) == 1);
        goes_on = feed(link, slice, length);
        free(slice);
        begin += length;
    }
    MUST(goes_on || link_error(link)->message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"fuzz"};
    static struct tls_context context;
    const struct link_peer peer = {names, 1};
    const struct remote_hello hello = {.link_version = REMOTE_LINK_VERSION,
                                       .protocol_version = PROTOCOL_VERSION};
    struct fuzz_input input = fuzz_split(data, size);
    int pair[2];
    if (!context.ssl) {
        context.ssl = SSL_CTX_new(TLS_method());
        (void)signal(SIGPIPE, SIG_IGN);
    }
    if (input.length == 0)
        return 0;
    bool is_server = input.bytes[0] == 's';
    input.bytes++;
    input.length--;
    accepted = arrived = 0;
    memset(plugin_ends, -1, sizeof(plugin_ends));
    size_t before = count_descriptors();
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    struct link *link = link_new(pair[0], &context, is_server, &peer, &hello, &handler, NULL);
    MUST(link != NULL);
    inside = pair[0];
    feed_all(link, pair[1], &input);
    MUST(!is_server || arrived <= accepted);
    link_free(link);
    close_fd(pair[1]);
    for (size_t i = 0; i < RUNS; i++)
        for (size_t j = 0; j < 4; j++)
            close_fd(plugin_ends[i][j]);
    MUST(count_descriptors() == before);
    return 0;
}
