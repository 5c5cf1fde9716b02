/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a message to its guest in pieces, with the content of files by reference in between.
 * The files are real ones, behind a socket as the plugin's. One thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/guest_runs/container/message_sender.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "protocol/channel.h"
#include "tap_suite.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))
#define LARGE         ((size_t)300000) /* more than a few pieces */

static unsigned char large[LARGE];
static int sockets[2];
static unsigned char sent[2 * LARGE];
static size_t sent_length;

static void open_sockets(void)
{
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (unsigned char)(i * 7 + i / 251);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    sent_length = 0;
}

static void close_sockets(void)
{
    close_fd(sockets[0]);
    close_fd(sockets[1]);
}

/* The description of that content. */
static struct run_file describe(const char *path, const unsigned char *content, size_t length)
{
    struct run_file file = {.path = TEXT(path), .length = length, .by_reference = true};
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, content, length);
    sha256_end(&hash, file.sha256);
    return file;
}

/* Sends a descriptor of a file with that content, as the plugin does. */
static void offer(const unsigned char *content, size_t length)
{
    CLEANUP_CLOSE int fd = memfd_create("offered", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, length), (ssize_t)length);
    ck_assert_int_eq(channel_send(sockets[0], "f", 1, &fd, 1), 0);
}

static struct run_message message_of(const struct run_description *description)
{
    struct run_message message;
    ck_assert(run_message_make(description, (const unsigned char *)"in", 2, &message));
    return message;
}

/* Takes at most so many bytes of each piece. What message_sender_next() has said at last. */
static int send_all(struct message_sender *sender, const struct run_message *message, size_t most)
{
    struct message_piece piece;
    struct message_piece again;
    int outcome;
    while ((outcome = message_sender_next(sender, message, sockets[1], &piece)) == 1) {
        ck_assert_int_eq(message_sender_next(sender, message, sockets[1], &again), 1);
        ck_assert_ptr_eq(again.bytes, piece.bytes);
        ck_assert_uint_eq(again.length, piece.length);
        ck_assert_uint_gt(piece.length, 0);
        size_t count = piece.length < most ? piece.length : most;
        ck_assert_uint_le(sent_length + count, sizeof(sent));
        memcpy(sent + sent_length, piece.bytes, count);
        sent_length += count;
        message_sender_take(sender, count);
    }
    return outcome;
}

static void expect_bytes(size_t at, const void *bytes, size_t length)
{
    ck_assert_uint_le(at + length, sent_length);
    ck_assert_mem_eq(sent + at, bytes, length);
}

START_TEST(each_file_is_in_its_gap)
{
    static const size_t most[] = {SIZE_MAX, 1000, 65536, 7};
    struct run_file files[] = {
        describe("large", large, LARGE),
        {.path = TEXT("inline"), .content = (unsigned char *)TEXT("xy"), .length = 2},
        describe("empty", large, 0),
        describe("small", large, 3),
    };
    const struct run_description description = {
        .argv = (char *[]){TEXT("sh"), NULL}, .files = files, .file_count = COUNT_OF(files)};
    CLEANUP(run_message_clear) struct run_message message = message_of(&description);
    CLEANUP(message_sender_close) struct message_sender sender = {.sent = 0};
    offer(large, LARGE);
    offer(large, 0);
    offer(large, 3);
    ck_assert_int_eq(send_all(&sender, &message, most[_i]), 0);
    ck_assert(sender.over);
    ck_assert_uint_eq(sender.total, sent_length);
    ck_assert_uint_eq(sent_length, message.length + LARGE + 3);
    size_t before = message.gaps[0].offset;
    expect_bytes(0, message.bytes, before);
    expect_bytes(before, large, LARGE);
    expect_bytes(before + LARGE, "\2\0\0\0\0\0\0\0xy\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 26);
    expect_bytes(before + LARGE + 26, large, 3);
    expect_bytes(before + LARGE + 29, "\2\0\0\0\0\0\0\0inend!", 14);
}
END_TEST

/* Of a cell: the message is whole all the same, and its end is the number of the file. */
static void expect_filling(struct message_sender *sender, struct run_message *message,
                           size_t length, const char *number)
{
    message_sender_fill(sender, message);
    run_message_refuse(message, sender->filled - 1);
    ck_assert_int_eq(send_all(sender, message, 100000), 0);
    ck_assert(sender->over);
    ck_assert_uint_eq(sender->total, sent_length);
    ck_assert_uint_eq(sent_length, message->length + length);
    expect_bytes(sent_length - 4, number, 4);
}

/* The word at the end of the message is not sent, and nothing of what follows the file. */
static void expect_refusal(const unsigned char *content, size_t length, int error_number)
{
    struct run_file files[] = {describe("first", large, 10), describe("second", large, LARGE)};
    const struct run_description description = {
        .argv = (char *[]){TEXT("sh"), NULL}, .files = files, .file_count = COUNT_OF(files)};
    CLEANUP(run_message_clear) struct run_message message = message_of(&description);
    CLEANUP(message_sender_close) struct message_sender sender = {.sent = 0};
    offer(large, 10);
    if (content)
        offer(content, length);
    close_fd(TAKE_FD(sockets[0]));
    errno = ENOTTY;
    ck_assert_int_eq(send_all(&sender, &message, SIZE_MAX), -1);
    ck_assert_int_eq(errno, error_number);
    ck_assert_uint_eq(sender.filled, 1);
    ck_assert_uint_le(sent_length, message.gaps[1].offset + 10 + LARGE);
    expect_filling(&sender, &message, 10 + LARGE, "\1\0\0\0");
}

START_TEST(another_content_is_refused)
{
    static unsigned char other[LARGE];
    memcpy(other, large, LARGE);
    other[LARGE - 1] ^= 1;
    expect_refusal(other, LARGE, 0);
}
END_TEST

START_TEST(a_shorter_file_is_refused)
{
    expect_refusal(large, LARGE - 1, 0);
}
END_TEST

START_TEST(a_longer_file_is_refused)
{
    struct run_file file = describe("a", large, LARGE - 1);
    const struct run_description description = {
        .argv = (char *[]){TEXT("sh"), NULL}, .files = &file, .file_count = 1};
    CLEANUP(run_message_clear) struct run_message message = message_of(&description);
    CLEANUP(message_sender_close) struct message_sender sender = {.sent = 0};
    offer(large, LARGE);
    ck_assert_int_eq(send_all(&sender, &message, SIZE_MAX), -1);
    ck_assert_uint_le(sent_length, message.gaps[0].offset + LARGE);
    expect_filling(&sender, &message, LARGE - 1, "\0\0\0\0");
}
END_TEST

START_TEST(the_first_file_that_is_refused_is_named)
{
    struct run_file files[] = {describe("first", large, 10), describe("second", large, 20)};
    const struct run_description description = {
        .argv = (char *[]){TEXT("sh"), NULL}, .files = files, .file_count = COUNT_OF(files)};
    CLEANUP(run_message_clear) struct run_message message = message_of(&description);
    CLEANUP(message_sender_close) struct message_sender sender = {.sent = 0};
    offer(large, 9);
    offer(large, 19);
    ck_assert_int_eq(send_all(&sender, &message, SIZE_MAX), -1);
    message_sender_fill(&sender, &message);
    run_message_refuse(&message, 0);
    ck_assert_int_eq(send_all(&sender, &message, SIZE_MAX), -1);
    ck_assert_uint_eq(sender.filled, 1);
    expect_filling(&sender, &message, 30, "\0\0\0\0");
}
END_TEST

START_TEST(a_missing_descriptor_is_refused)
{
    expect_refusal(NULL, 0, EBADMSG);
}
END_TEST

START_TEST(a_closed_one_sends_nothing_more)
{
    struct run_file file = describe("a", large, LARGE);
    const struct run_description description = {
        .argv = (char *[]){TEXT("sh"), NULL}, .files = &file, .file_count = 1};
    CLEANUP(run_message_clear) struct run_message message = message_of(&description);
    struct message_sender sender = {.sent = 0};
    struct message_piece piece;
    offer(large, LARGE);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(message_sender_next(&sender, &message, sockets[1], &piece), 1);
        message_sender_take(&sender, piece.length);
    }
    ck_assert_uint_gt(sender.total, message.gaps[0].offset);
    message_sender_close(&sender);
    run_message_clear(&message);
    ck_assert_int_eq(message_sender_next(&sender, &message, sockets[1], &piece), 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("message sender");
    tcase_add_checked_fixture(cases, open_sockets, close_sockets);
    tcase_add_loop_test(cases, each_file_is_in_its_gap, 0, 4);
    tcase_add_test(cases, another_content_is_refused);
    tcase_add_test(cases, a_shorter_file_is_refused);
    tcase_add_test(cases, a_longer_file_is_refused);
    tcase_add_test(cases, the_first_file_that_is_refused_is_named);
    tcase_add_test(cases, a_missing_descriptor_is_refused);
    tcase_add_test(cases, a_closed_one_sends_nothing_more);
    return run_suite("docker message sender", &cases, 1);
}
