/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and messages: what one side writes the other one reads, and nothing else. One thread. */
#include <check.h>
#include <string.h>

#include "backends/remote/link/remote_frame.h"
#include "backends/remote/link/remote_messages.h"
#include "protocol/run_event.h"
#include "tap_suite.h"

static unsigned char payload[REMOTE_MESSAGE_LIMIT];

START_TEST(a_header_is_read_as_it_was_written)
{
    unsigned char bytes[REMOTE_HEADER];
    struct remote_header read;
    const struct remote_header header = {70, REMOTE_DATA, 0x01020304};
    remote_header_put(bytes, &header);
    ck_assert_int_eq(memcmp(bytes, "\x46\0\0\0\5\4\3\2\1", sizeof(bytes)), 0);
    ck_assert(remote_header_read(bytes, &read));
    ck_assert(read.length == 70 && read.kind == REMOTE_DATA && read.channel == 0x01020304);
}
END_TEST

START_TEST(headers_that_cannot_be_are_refused)
{
    static const struct remote_header wrong[] = {
        {0, 0, 0},
        {0, REMOTE_KIND_END, 0},
        {0, 255, 1},
        {REMOTE_PAYLOAD_LIMIT + 1, REMOTE_DATA, 1},
        {UINT32_MAX, REMOTE_DATA, 1},
        {0, REMOTE_DATA, 1},
        {1, REMOTE_DATA, 0},
        {1, REMOTE_HELLO, 1},
        {1, REMOTE_END, 1},
        {0, REMOTE_RESET, 0},
        {3, REMOTE_TAKEN, 1},
        {5, REMOTE_TAKEN, 1},
        {0, REMOTE_PING, 1},
        {1, REMOTE_PONG, 0},
        {2, REMOTE_DATAGRAM, 1},
        {REMOTE_PAYLOAD_LIMIT, REMOTE_DATAGRAM, 1},
        {1, REMOTE_OFFER, 0},
        {1, REMOTE_CAPACITY, 9},
        {1, REMOTE_DRAIN, 0},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        unsigned char bytes[REMOTE_HEADER];
        struct remote_header read;
        remote_header_put(bytes, &wrong[i]);
        HOLDS(!remote_header_read(bytes, &read), "number %zu", i);
    }
}
END_TEST

START_TEST(a_datagram_has_its_attachments)
{
    const struct remote_datagram datagram = {
        .attachment_count = 3,
        .attachments = {{REMOTE_NOTHING, 0, 0},
                        {REMOTE_CONTENT, 7, 1 << 20},
                        {REMOTE_OUTPUT, 8, 0}},
    };
    unsigned char bytes[REMOTE_DATAGRAM_HEAD(3) + 2];
    struct remote_datagram read;
    remote_datagram_put_head(bytes, &datagram);
    bytes[REMOTE_DATAGRAM_HEAD(3)] = 'h';
    bytes[REMOTE_DATAGRAM_HEAD(3) + 1] = 'i';
    ck_assert(remote_datagram_read(bytes, sizeof(bytes), &read));
    ck_assert_uint_eq(read.attachment_count, 3);
    ck_assert_int_eq(read.attachments[1].form, REMOTE_CONTENT);
    ck_assert_uint_eq(read.attachments[1].size, 1 << 20);
    ck_assert_uint_eq(read.attachments[2].channel, 8);
    ck_assert(read.length == 2 && memcmp(read.bytes, "hi", 2) == 0);
    for (size_t length = 0; length <= REMOTE_DATAGRAM_HEAD(3); length++)
        ck_assert(!remote_datagram_read(bytes, length, &read));
}
END_TEST

START_TEST(attachments_that_cannot_be_are_refused)
{
    static const struct remote_attachment wrong[] = {
        {0, 1, 0},
        {REMOTE_FORM_END, 1, 0},
        {REMOTE_NOTHING, 1, 0},
        {REMOTE_NOTHING, 0, 1},
        {REMOTE_OUTPUT, 0, 0},
        {REMOTE_OUTPUT, 1, 1},
        {REMOTE_CONTENT, 1, REMOTE_CONTENT_LIMIT + 1},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const struct remote_datagram datagram = {.attachment_count = 1, .attachments = {wrong[i]}};
        unsigned char bytes[REMOTE_DATAGRAM_HEAD(1) + 1] = {0};
        struct remote_datagram read;
        remote_datagram_put_head(bytes, &datagram);
        HOLDS(!remote_datagram_read(bytes, sizeof(bytes), &read), "number %zu", i);
    }
    unsigned char many[REMOTE_DATAGRAM_HEAD(REMOTE_ATTACHMENTS_LIMIT + 1) + 1] = {
        REMOTE_ATTACHMENTS_LIMIT + 1};
    struct remote_datagram read;
    ck_assert(!remote_datagram_read(many, sizeof(many), &read));
}
END_TEST

START_TEST(a_greeting_says_who_it_is)
{
    const struct remote_hello hello = {.link_version = REMOTE_LINK_VERSION,
                                       .protocol_version = PROTOCOL_VERSION,
                                       .name = "worker-1",
                                       .mode = "docker",
                                       .memory_bytes = UINT64_C(1) << 40,
                                       .processors = 64,
                                       .slots = 3};
    struct remote_hello read;
    size_t length = remote_hello_encode(&hello, payload);
    ck_assert(remote_hello_decode(payload, length, &read));
    ck_assert_str_eq(read.name, hello.name);
    ck_assert_str_eq(read.mode, hello.mode);
    ck_assert(read.memory_bytes == hello.memory_bytes && read.processors == 64 && read.slots == 3);
    for (size_t i = 0; i < length; i++)
        ck_assert(!remote_hello_decode(payload, i, &read));
    ck_assert(!remote_hello_decode(payload, length + 1, &read));
    payload[0] ^= 1;
    ck_assert(!remote_hello_decode(payload, length, &read));
}
END_TEST

START_TEST(a_greeting_of_another_version_says_which)
{
    struct remote_hello hello = {.link_version = 7, .protocol_version = 8, .name = "new"};
    struct remote_hello read;
    size_t length = remote_hello_encode(&hello, payload);
    payload[length] = 'x'; /* a member of later versions */
    ck_assert(remote_hello_decode(payload, length + 1, &read));
    ck_assert(read.link_version == 7 && read.protocol_version == 8);
    ck_assert_str_eq(read.name, "");
}
END_TEST

START_TEST(an_offer_is_read_as_it_was_written)
{
    struct remote_offer offer = {
        .purpose = 1, .is_session = 1, .memory_bytes = 5, .wall_ms = 6, .principal = "abcdef"};
    struct remote_offer read;
    size_t length = remote_offer_encode(&offer, payload);
    ck_assert(remote_offer_decode(payload, length, &read));
    ck_assert_str_eq(read.principal, "abcdef");
    ck_assert(read.purpose == 1 && read.is_session == 1 && read.memory_bytes == 5 &&
              read.wall_ms == 6);
    for (size_t i = 0; i < length; i++)
        ck_assert(!remote_offer_decode(payload, i, &read));
    offer.purpose = 77;
    ck_assert(!remote_offer_decode(payload, remote_offer_encode(&offer, payload), &read));
    offer = (struct remote_offer){.is_session = 2};
    ck_assert(!remote_offer_decode(payload, remote_offer_encode(&offer, payload), &read));
}
END_TEST

START_TEST(texts_are_clean_on_the_way)
{
    struct remote_answer answer = {
        .verdict = REMOTE_REFUSED, .retry_after_ms = 9, .reason = "a\nb\xff\xc3", .remedy = "\x7f"};
    struct remote_answer read;
    size_t length = remote_answer_encode(&answer, payload);
    ck_assert(remote_answer_decode(payload, length, &read));
    ck_assert_str_eq(read.reason, "a?b??");
    ck_assert_str_eq(read.remedy, "?");
    ck_assert_uint_eq(read.retry_after_ms, 9);
    /* A text that is cut ends with a whole character. */
    memset(answer.reason, 'x', sizeof(answer.reason) - 1);
    memcpy(answer.reason + sizeof(answer.reason) - 3, "\xc3\xbc", 2);
    ck_assert(remote_answer_decode(payload, remote_answer_encode(&answer, payload), &read));
    ck_assert_uint_eq(strlen(read.reason), REMOTE_REASON_LIMIT);
    answer = (struct remote_answer){.verdict = REMOTE_BUSY, .reason = "text"};
    length = remote_answer_encode(&answer, payload);
    ck_assert(remote_answer_decode(payload, length, &read));
    for (unsigned int byte = 0; byte < 256; byte++) {
        payload[16] = (unsigned char)byte; /* the first of the reason */
        ck_assert(remote_answer_decode(payload, length, &read) == (byte >= 0x20 && byte < 0x7f));
    }
    answer.verdict = 0;
    ck_assert(!remote_answer_decode(payload, remote_answer_encode(&answer, payload), &read));
    answer.verdict = REMOTE_VERDICT_END;
    ck_assert(!remote_answer_decode(payload, remote_answer_encode(&answer, payload), &read));
}
END_TEST

START_TEST(a_capacity_is_read_as_it_was_written)
{
    const struct remote_capacity capacity = {.runs = 1, .slots = 2, .memory_free_bytes = 3};
    struct remote_capacity read;
    size_t length = remote_capacity_encode(&capacity, payload);
    ck_assert(remote_capacity_decode(payload, length, &read));
    ck_assert(read.runs == 1 && read.slots == 2 && read.memory_free_bytes == 3);
    ck_assert(!remote_capacity_decode(payload, length - 1, &read));
    ck_assert(!remote_capacity_decode(payload, length + 1, &read));
}
END_TEST

int main(void)
{
    TCase *messages = tcase_create("messages");
    tcase_add_test(messages, a_header_is_read_as_it_was_written);
    tcase_add_test(messages, headers_that_cannot_be_are_refused);
    tcase_add_test(messages, a_datagram_has_its_attachments);
    tcase_add_test(messages, attachments_that_cannot_be_are_refused);
    tcase_add_test(messages, a_greeting_says_who_it_is);
    tcase_add_test(messages, a_greeting_of_another_version_says_which);
    tcase_add_test(messages, an_offer_is_read_as_it_was_written);
    tcase_add_test(messages, texts_are_clean_on_the_way);
    tcase_add_test(messages, a_capacity_is_read_as_it_was_written);
    return run_suite("remote messages", &messages, 1);
}
