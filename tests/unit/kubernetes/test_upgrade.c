/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken for the grant of a WebSocket, in whatever pieces it comes. Key and answer are the
 * example of RFC 6455, section 1.3. */
#include <check.h>
#include <string.h>

#include "backends/kubernetes/api/upgrade.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define KEY     "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
#define START   "HTTP/1.1 101 Switching Protocols\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"

static enum upgrade_state feed(struct upgrade *upgrade, const char *text, size_t size,
                               size_t *ret_taken)
{
    size_t length = strlen(text);
    enum upgrade_state state = UPGRADE_MORE;
    *upgrade = (struct upgrade){.length = 0};
    *ret_taken = 0;
    while (state == UPGRADE_MORE && *ret_taken < length) {
        size_t left = length - *ret_taken;
        size_t taken = 0;
        state = upgrade_feed(upgrade, KEY, (const unsigned char *)text + *ret_taken,
                             left < size ? left : size, &taken);
        *ret_taken += taken;
    }
    return state;
}

static void expect(const char *text, enum upgrade_state expected, size_t expected_taken)
{
    for (size_t size = 1; size < 200; size += 13) {
        struct upgrade upgrade;
        size_t taken = 0;
        ck_assert_msg(feed(&upgrade, text, size, &taken) == expected, "%zu: %s", size, text);
        ck_assert_uint_eq(taken, expected_taken);
    }
}

START_TEST(a_grant_is_taken)
{
    static const char v5[] =
        START UPGRADE ACCEPT "sec-websocket-protocol:  v5.channel.k8s.io \r\n\r\n\x82\x01\x01";
    static const char v4[] =
        START "Date: x\r\n" UPGRADE ACCEPT "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n";
    struct upgrade upgrade;
    size_t taken;
    expect(v5, UPGRADE_GRANTED, sizeof(v5) - 1 - 3);
    ck_assert_int_eq(feed(&upgrade, v5, 1000, &taken), UPGRADE_GRANTED);
    ck_assert_uint_eq(upgrade.protocol, 5);
    expect(v4, UPGRADE_GRANTED, sizeof(v4) - 1);
    ck_assert_int_eq(feed(&upgrade, v4, 7, &taken), UPGRADE_GRANTED);
    ck_assert_uint_eq(upgrade.protocol, 4);
}
END_TEST

START_TEST(what_is_no_grant_is_none)
{
    static const char *const texts[] = {
        START UPGRADE ACCEPT "\r\n", /* no protocol: v1, without a status */
        START UPGRADE ACCEPT "Sec-WebSocket-Protocol: v9.channel.k8s.io\r\n\r\n",
        START UPGRADE "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
        START UPGRADE "Sec-WebSocket-Accept: AAAA\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
                      "\r\n",
        START ACCEPT "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
        START UPGRADE ACCEPT "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
                             "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        START UPGRADE ACCEPT "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
                             "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 1x1 \r\n\r\n",
        "HTTP/1.1\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        expect(texts[i], UPGRADE_BROKEN, strlen(texts[i]));
}
END_TEST

START_TEST(a_refusal_keeps_its_body)
{
    static const char text[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno!!!and more";
    struct upgrade upgrade;
    size_t taken;
    size_t length;
    expect(text, UPGRADE_REFUSED, sizeof(text) - 1 - 8);
    ck_assert_int_eq(feed(&upgrade, text, 3, &taken), UPGRADE_REFUSED);
    const char *body = upgrade_body(&upgrade, &length);
    ck_assert_int_eq(upgrade.status, 403);
    ck_assert_uint_eq(length, 5);
    ck_assert_int_eq(memcmp(body, "no!!!", 5), 0);
    expect("HTTP/1.1 403 Forbidden\r\n\r\n", UPGRADE_REFUSED, 26);
    expect("HTTP/1.1 500 x\r\nContent-Length: 7\r\n\r\nab", UPGRADE_MORE, 39);
}
END_TEST

START_TEST(a_head_without_end_is_given_up)
{
    struct upgrade upgrade = {.length = 0};
    size_t taken = 0;
    enum upgrade_state state = UPGRADE_MORE;
    unsigned int rounds = 0;
    for (; state == UPGRADE_MORE && rounds < 2 * UPGRADE_HEAD_LIMIT; rounds++)
        state = upgrade_feed(&upgrade, KEY, (const unsigned char *)"a", 1, &taken);
    ck_assert_int_eq(state, UPGRADE_BROKEN);
    ck_assert_uint_eq(rounds, UPGRADE_HEAD_LIMIT + 1);
    static const char nul[] = START UPGRADE "X: \0\r\n\r\n";
    upgrade = (struct upgrade){.length = 0};
    ck_assert_int_eq(
        upgrade_feed(&upgrade, KEY, (const unsigned char *)nul, sizeof(nul) - 1, &taken),
        UPGRADE_BROKEN);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("upgrade");
    tcase_add_test(cases, a_grant_is_taken);
    tcase_add_test(cases, what_is_no_grant_is_none);
    tcase_add_test(cases, a_refusal_keeps_its_body);
    tcase_add_test(cases, a_head_without_end_is_given_up);
    return run_suite("upgrade", &cases, 1);
}
