/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of WebSocket as the examples of RFC 6455 have them, in every cut, and whatever a
 * server must not send; the channels of an API server above them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backends/kubernetes/api/attach_channels.h"
#include "base/cleanup.h"
#include "tap_suite.h"

START_TEST(the_key_of_the_rfc_has_its_answer)
{
    ck_assert(websocket_is_answer("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    ck_assert(!websocket_is_answer("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo"));
    ck_assert(!websocket_is_answer("dGhlIHNhbXBsZSBub25jZg==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
}
END_TEST

START_TEST(a_masked_text_is_that_of_the_rfc)
{
    static const unsigned char mask[] = {0x37, 0xfa, 0x21, 0x3d};
    static const unsigned char expected[] = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d,
                                             0x7f, 0x9f, 0x4d, 0x51, 0x58};
    unsigned char frame[WEBSOCKET_HEADER_LIMIT + 5];
    size_t length = websocket_header(WEBSOCKET_TEXT, 5, mask, frame);
    static const unsigned char hello[] = {'H', 'e', 'l', 'l', 'o'};
    memcpy(frame + length, hello, sizeof(hello));
    websocket_mask(frame + length, 2, 0, mask);
    websocket_mask(frame + length + 2, 3, 2, mask);
    ck_assert_uint_eq(length + 5, sizeof(expected));
    ck_assert_mem_eq(frame, expected, sizeof(expected));
}
END_TEST

START_TEST(a_length_has_the_shortest_form)
{
    static const unsigned char mask[WEBSOCKET_MASK_BYTES] = {0};
    static const struct {
        uint64_t length;
        size_t header;
    } rows[] = {{0, 6}, {125, 6}, {126, 8}, {65535, 8}, {65536, 14}};
    unsigned char header[WEBSOCKET_HEADER_LIMIT];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_uint_eq(websocket_header(WEBSOCKET_BINARY, rows[i].length, mask, header),
                          rows[i].header);
}
END_TEST

#define TEXT_LIMIT 4096

/* What comes of an input: data as it is, and marks for the rest. */
struct transcript {
    char text[TEXT_LIMIT];
    size_t length;
};

static void note(struct transcript *transcript, const void *bytes, size_t length)
{
    ck_assert_uint_lt(transcript->length + length, TEXT_LIMIT);
    if (length > 0)
        memcpy(transcript->text + transcript->length, bytes, length);
    transcript->length += length;
    transcript->text[transcript->length] = '\0';
}

static void note_mark(struct transcript *transcript, const char *mark)
{
    note(transcript, mark, strlen(mark));
}

/* false: refused. */
static bool read_part(struct attach_channels *channels, const unsigned char *bytes, size_t length,
                      struct transcript *transcript)
{
    struct attach_piece piece;
    size_t begin = 0;
    do {
        ptrdiff_t taken = attach_channels_next(channels, bytes + begin, length - begin, &piece);
        if (taken < 0)
            return false;
        begin += (size_t)taken;
        static const char *const marks[] = {[ATTACH_NOTHING] = "",
                                            [ATTACH_BYTES] = "",
                                            [ATTACH_IS_PING] = "<ping>",
                                            [ATTACH_IS_CLOSED] = "<close>"};
        note_mark(transcript, marks[piece.kind]);
        note(transcript, piece.bytes, piece.length);
    } while (piece.kind != ATTACH_NOTHING);
    ck_assert_uint_eq(begin, length);
    return true;
}

/* The input in two parts, cut at each place. All cuts must give the same; *ret_channels of the last
 * one. */
static bool read_in_all_cuts(const unsigned char *bytes, size_t length,
                             struct transcript *transcript, struct attach_channels *ret_channels)
{
    bool first = true;
    bool good = false;
    for (size_t cut = 0; cut <= length; cut++) {
        struct transcript found = {.length = 0};
        *ret_channels = (struct attach_channels){.has_channel = false};
        bool passed = read_part(ret_channels, bytes, cut, &found) &&
                      read_part(ret_channels, bytes + cut, length - cut, &found);
        ck_assert(first || passed == good);
        if (passed && !first)
            ck_assert_str_eq(found.text, transcript->text);
        good = passed;
        *transcript = found;
        first = false;
    }
    return good;
}

static void expect(const char *bytes, size_t length, const char *text)
{
    struct transcript transcript = {.length = 0};
    static struct attach_channels channels;
    bool good = read_in_all_cuts((const unsigned char *)bytes, length, &transcript, &channels);
    ck_assert_int_eq(good, text != NULL);
    if (text)
        ck_assert_str_eq(transcript.text, text);
}

#define EXPECT(bytes, text) expect(bytes, sizeof(bytes) - 1, text)

START_TEST(output_comes_without_its_channel)
{
    EXPECT("\x82\x06\x01Hello", "Hello");
    EXPECT("\x82\x01\x01\x82\x01\x02\x82\x04\x02"
           "err\x82\x04\x01out",
           "errout");
}
END_TEST

START_TEST(fragments_are_one_message_with_pings_between_them)
{
    EXPECT("\x02\x03\x01He\x89\x02hi\x00\x02ll\x80\x01o", "He<ping>hillo");
    EXPECT("\x02\x00\x00\x02\x01H\x80\x01i", "Hi");
    EXPECT("\x8a\x01x\x82\x02\x01H", "H");
    EXPECT("\x88\x02\x03\xe8", "<close>\x03\xe8");
}
END_TEST

START_TEST(a_long_message_is_read)
{
    static unsigned char input[4 + 1000];
    static struct attach_channels channels;
    struct transcript transcript = {.length = 0};
    memset(input, 'a', sizeof(input));
    static const unsigned char head[] = {0x82, 0x7e, 0x03, 0xe8, 0x01};
    memcpy(input, head, sizeof(head));
    ck_assert(read_in_all_cuts(input, sizeof(input), &transcript, &channels));
    ck_assert_uint_eq(transcript.length, 999);
}
END_TEST

START_TEST(frames_that_no_server_may_send_are_refused)
{
    EXPECT("\x82\x86\x01\x02\x03\x04\x01Hello", NULL); /* masked */
    EXPECT("\xc2\x06\x01Hello", NULL);                 /* a reserved bit */
    EXPECT("\x83\x06\x01Hello", NULL);                 /* unknown kinds */
    EXPECT("\x8b\x00", NULL);
    EXPECT("\x80\x06\x01Hello", NULL); /* goes on where nothing has begun */
    EXPECT("\x02\x02\x01H\x82\x02\x01i", NULL);
    EXPECT("\x09\x01x", NULL);            /* a control frame in fragments */
    EXPECT("\x89\x7e\x00\x7e", NULL);     /* and one that is too long */
    EXPECT("\x82\x7e\x00\x05\x01", NULL); /* lengths in a longer form than they need */
    EXPECT("\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", NULL);
    EXPECT("\x82\x7f\x80\x00\x00\x00\x00\x01\x00\x00", NULL);
}
END_TEST

START_TEST(only_output_and_status_come)
{
    EXPECT("\x82\x02\x00x", NULL); /* the standard input is ours */
    EXPECT("\x82\x02\x04x", NULL);
    EXPECT("\x82\x02\x77x", NULL);
    EXPECT("\x82\x00", NULL); /* a message without a channel */
    EXPECT("\x82\x01\x00", "");
    EXPECT("\x82\x02\xff\x01", "");
}
END_TEST

START_TEST(the_status_is_kept)
{
    static const char input[] = "\x82\x05\x03{\"a\"\x82\x04\x03:1}";
    static struct attach_channels channels;
    struct transcript transcript = {.length = 0};
    ck_assert(
        read_in_all_cuts((const unsigned char *)input, sizeof(input) - 1, &transcript, &channels));
    ck_assert_str_eq(channels.status, "{\"a\":1}");
    ck_assert(!channels.status_is_cut);
    ck_assert_uint_eq(transcript.length, 0);
}
END_TEST

START_TEST(a_long_status_is_cut)
{
    static unsigned char input[3 + 70];
    static struct attach_channels channels;
    struct transcript transcript = {.length = 0};
    memset(input, 's', sizeof(input));
    static const unsigned char head[] = {0x82, 0x47, 0x03};
    memcpy(input, head, sizeof(head));
    channels = (struct attach_channels){.has_channel = false};
    for (size_t i = 0; i < 2 * ATTACH_STATUS_LIMIT / 70; i++)
        ck_assert(read_part(&channels, input, sizeof(input), &transcript));
    ck_assert_uint_eq(strlen(channels.status), ATTACH_STATUS_LIMIT);
    ck_assert(channels.status_is_cut);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("kubernetes websocket");
    tcase_add_test(cases, the_key_of_the_rfc_has_its_answer);
    tcase_add_test(cases, a_masked_text_is_that_of_the_rfc);
    tcase_add_test(cases, a_length_has_the_shortest_form);
    tcase_add_test(cases, output_comes_without_its_channel);
    tcase_add_test(cases, fragments_are_one_message_with_pings_between_them);
    tcase_add_test(cases, a_long_message_is_read);
    tcase_add_test(cases, frames_that_no_server_may_send_are_refused);
    tcase_add_test(cases, only_output_and_status_come);
    tcase_add_test(cases, the_status_is_kept);
    tcase_add_test(cases, a_long_status_is_cut);
    return run_suite("kubernetes websocket", &cases, 1);
}
