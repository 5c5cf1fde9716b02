/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of the run's message: see guest_input.h. Runs in the guest. */
#include "guest/messages/guest_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "base/write_fully.h"

#define CHUNK          65536
#define TAKEN_LIMIT_MS 10000 /* for a backend that is slow, or has gone without a word */

bool input_await(int other)
{
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = other}};
    while (poll(ready, COUNT_OF(ready), -1) < 0 && errno == EINTR)
        ;
    return ready[0].revents != 0;
}

size_t input_take_some(void *bytes, size_t length)
{
    ssize_t count;
    do
        count = read(STDIN_FILENO, bytes, length);
    while (count < 0 && errno == EINTR);
    if (count <= 0)
        _exit(1);
    return (size_t)count;
}

static void read_whole(unsigned char *bytes, size_t length)
{
    for (size_t taken = 0; taken < length;)
        taken += input_take_some(bytes + taken, length - taken);
}

static bool take_peer(char ret[GUEST_PEER_SIZE])
{
    unsigned char length;
    read_whole(&length, sizeof(length));
    if (length >= GUEST_PEER_SIZE)
        return false;
    read_whole((unsigned char *)ret, length);
    ret[length] = '\0';
    return true;
}

/* containerd begins to pass on input and then to listen for output, so a moment passes between. */
bool input_await_call(char ret_peer[GUEST_PEER_SIZE])
{
    static const struct timespec moment = {.tv_nsec = 20000000};
    unsigned char call;
    read_whole(&call, sizeof(call));
    bool is_good = call == GUEST_CALL || (call == GUEST_CALL_NETWORK && take_peer(ret_peer));
    (void)nanosleep(&moment, NULL);
    return is_good;
}

static uint64_t read_number(size_t width)
{
    unsigned char bytes[sizeof(uint64_t)] = {0};
    read_whole(bytes, width);
    struct wire_reader reader = {.bytes = bytes, .length = sizeof(bytes)};
    return wire_get_u64(&reader);
}

bool input_take_head(struct guest_run *ret)
{
    size_t length = (size_t)read_number(sizeof(uint32_t));
    CLEANUP_FREE unsigned char *head = length <= GUEST_HEAD_LIMIT ? malloc(length + 1) : NULL;
    if (!head)
        return false;
    read_whole(head, length);
    bool good = guest_run_read(head, length, ret);
    explicit_bzero(head, length);
    return good;
}

/* Takes so many bytes. false with errno where the file does not take them all; fd -1: none takes
 * them. */
static bool copy_to(int fd, uint64_t left, struct sha256 *hash)
{
    static unsigned char chunk[CHUNK];
    int error = fd < 0 ? EBADF : 0;
    while (left > 0) {
        size_t count = input_take_some(chunk, left < CHUNK ? (size_t)left : CHUNK);
        left -= count;
        if (hash)
            sha256_add(hash, chunk, count);
        if (error == 0 && !write_fully(fd, chunk, count))
            error = errno;
    }
    errno = error;
    return error == 0;
}

bool input_take_content(int fd, struct run_file *ret)
{
    struct sha256 hash;
    sha256_begin(&hash);
    ret->length = (size_t)read_number(sizeof(uint64_t));
    bool taken = copy_to(fd, ret->length, &hash);
    sha256_end(&hash, ret->sha256);
    return taken;
}

uint32_t input_take_number(void)
{
    return (uint32_t)read_number(sizeof(uint32_t));
}

void input_await_end(void)
{
    char dropped[4096];
    ssize_t count;
    do
        count = read(STDIN_FILENO, dropped, sizeof(dropped));
    while (count > 0 || (count < 0 && errno == EINTR));
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* false: nothing has come in time. */
static bool is_readable(int64_t until_ms)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t left_ms = until_ms - now_ms();
    int count = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
    return count > 0 || (count < 0 && errno == EINTR);
}

/* What comes ahead of the word may be the rest of an order, so the word is looked for in all. */
void input_await_taken(void)
{
    int64_t until_ms = now_ms() + TAKEN_LIMIT_MS;
    char last[GUEST_TAKEN_LENGTH] = "";
    while (memcmp(last, GUEST_TAKEN, sizeof(last)) != 0 && is_readable(until_ms)) {
        memmove(last, last + 1, sizeof(last) - 1);
        ssize_t count = read(STDIN_FILENO, &last[sizeof(last) - 1], 1);
        if (count == 0 || (count < 0 && errno != EINTR))
            return;
    }
}

int input_make_file(void)
{
    return memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

bool input_take_stdin(int fd)
{
    return copy_to(fd, read_number(sizeof(uint64_t)), NULL);
}

bool input_take_end(void)
{
    return read_number(sizeof(uint32_t)) == GUEST_MESSAGE_END;
}

bool input_take_cell_end(size_t count, size_t *ret_refused)
{
    uint64_t word = read_number(sizeof(uint32_t));
    *ret_refused = word == GUEST_MESSAGE_END ? count : (size_t)word;
    return word == GUEST_MESSAGE_END || word < count;
}

bool input_seal_file(int fd)
{
    return lseek(fd, 0, SEEK_SET) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}
