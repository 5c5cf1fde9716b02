/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway and the remote backend tell each other, and how addresses, names and files of
 * workers are read. */
#include <stdio.h>
#include <string.h>

#include "backends/remote/client/discovery.h"
#include "backends/remote/messages/remote_options.h"
#include "base/cleanup.h"
#include "protocol/backend_parts.h"
#include "tap_suite.h"

static void free_bytes(struct wire_bytes *bytes)
{
    free(bytes->bytes);
}

START_TEST(options_come_back)
{
    char one[] = "w-1.example 10.0.0.7:7443";
    char two[] = "w2 [fd00::7]:7443";
    char key[] = "/etc/key.pem";
    char mode[] = "unprivileged";
    char *workers[] = {one, two, NULL};
    const struct remote_options sent = {.workers = workers, .key = key, .mode = mode};
    CLEANUP(free_bytes) struct wire_bytes bytes = {NULL, 0};
    CLEANUP(remote_options_clear) struct remote_options read = {.workers = NULL};
    ck_assert(remote_options_write(&sent, &bytes));
    ck_assert(remote_options_read(&bytes, &read));
    ck_assert_str_eq(read.workers[1], two);
    ck_assert_ptr_null(read.workers[2]);
    ck_assert_str_eq(read.key, key);
    ck_assert_str_eq(read.discover_dns, "");
    ck_assert_str_eq(read.mode, mode);
    bytes.length--;
    struct remote_options untouched = {.key = key};
    ck_assert(!remote_options_read(&bytes, &untouched));
    ck_assert_ptr_eq(untouched.key, key);
}
END_TEST

START_TEST(addresses)
{
    static const char *const good[] = {"a:1", "w-1.example:65535", "10.0.0.7:7443", "[::1]:80",
                                       "w_1:00080"};
    static const char *const bad[] = {"",      "a",     "a:",      "a:0",    "a:65536", ":1",
                                      "::1:1", "[::1]", "[::1:80", "[a]:80", "a b:1",   "-a:1",
                                      "a:1x",  "a/b:1", "[]:1",    "a:-1",   "a:000080"};
    struct remote_address address;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        ck_assert_msg(remote_address_parse(good[i], &address), "%s", good[i]);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_msg(!remote_address_parse(bad[i], &address), "%s", bad[i]);
    ck_assert(remote_address_parse("[fd00::7]:7443", &address));
    ck_assert_str_eq(address.host, "fd00::7");
    ck_assert_str_eq(address.port, "7443");
}
END_TEST

START_TEST(names)
{
    static const char *const bad[] = {"",   "*.example", "A",  "a..b", ".a",
                                      "a.", "-a",        "a-", "a b",  "a_b"};
    ck_assert(remote_name_is_valid("w-1.example"));
    ck_assert(remote_name_is_valid("7"));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_msg(!remote_name_is_valid(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(a_file_of_workers)
{
    char good[] = "# ours\n\n w-1.example \t10.0.0.7:7443 # the first\r\nw2 [fd00::7]:7443";
    char bad[] = "w-1.example 10.0.0.7:7443\nw2\n";
    char surplus[] = "w-1.example 10.0.0.7:7443 now\n";
    struct remote_place places[REMOTE_WORKERS_MOST];
    int line;
    ck_assert_int_eq(discovery_parse(good, places, &line), 2);
    ck_assert_str_eq(places[0].name, "w-1.example");
    ck_assert_str_eq(places[0].address, "10.0.0.7:7443");
    ck_assert_str_eq(places[1].address, "[fd00::7]:7443");
    ck_assert_int_eq(discovery_parse(bad, places, &line), -1);
    ck_assert_int_eq(line, 2);
    ck_assert_int_eq(discovery_parse(surplus, places, &line), -1);
    char nothing[] = "";
    ck_assert_int_eq(discovery_parse(nothing, places, &line), 0);
}
END_TEST

START_TEST(more_workers_than_there_may_be)
{
    static char text[(REMOTE_WORKERS_MOST + 1) * 8];
    static struct remote_place places[REMOTE_WORKERS_MOST];
    int line;
    for (int i = 0; i <= REMOTE_WORKERS_MOST; i++)
        (void)strcat(text, "w a:1\n");
    ck_assert_int_eq(discovery_parse(text, places, &line), -1);
    ck_assert_int_eq(line, REMOTE_WORKERS_MOST + 1);
}
END_TEST

START_TEST(details_come_back)
{
    struct remote_details sent = {.worker = "box", .attested_by = "w-1.example", .address = "a:1"};
    struct run_details bytes = {.length = 0};
    remote_details_write(&sent, &bytes);
    struct remote_details read = remote_details_read(&bytes);
    ck_assert_str_eq(read.worker, "box");
    ck_assert_str_eq(read.attested_by, "w-1.example");
    bytes.length--;
    read = remote_details_read(&bytes);
    ck_assert_str_eq(read.worker, "");
    /* The longest fit. */
    memset(sent.worker, 'w', sizeof(sent.worker) - 1);
    memset(sent.attested_by, 'a', sizeof(sent.attested_by) - 1);
    memset(sent.address, 'b', sizeof(sent.address) - 1);
    memset(sent.mode, 'm', sizeof(sent.mode) - 1);
    remote_details_write(&sent, &bytes);
    ck_assert_str_eq(remote_details_read(&bytes).address, sent.address);
    ck_assert_str_eq(remote_details_read(&bytes).mode, sent.mode);
}
END_TEST

/* As many as there is room for, and how many there are. */
START_TEST(parts_come_back)
{
    static struct backend_part parts[BACKEND_PARTS_MOST + 1];
    static unsigned char message[BACKEND_PARTS_LIMIT];
    CLEANUP(backend_parts_clear) struct backend_parts read = {.count = 0};
    (void)snprintf(parts[0].name, sizeof(parts[0].name), "w-1.example");
    parts[0].state = BACKEND_PART_DRAINING;
    parts[0].runs = 3;
    size_t length = backend_parts_encode(parts, BACKEND_PARTS_MOST + 1, message);
    ck_assert(backend_parts_decode(message, length, &read));
    ck_assert_uint_eq(read.total, BACKEND_PARTS_MOST + 1);
    ck_assert_uint_eq(read.count, BACKEND_PARTS_MOST);
    ck_assert_str_eq(read.parts[0].name, "w-1.example");
    ck_assert_uint_eq(read.parts[0].state, BACKEND_PART_DRAINING);
    ck_assert_uint_eq(read.parts[0].runs, 3);
    backend_parts_clear(&read);
    for (size_t i = 0; i < BACKEND_PARTS_MOST; i++)
        memset(parts[i].remedy, 'r', sizeof(parts[i].remedy) - 1);
    length = backend_parts_encode(parts, BACKEND_PARTS_MOST, message);
    ck_assert(backend_parts_decode(message, length, &read));
    ck_assert_uint_lt(read.count, read.total);
    ck_assert_uint_gt(read.count, BACKEND_PARTS_MOST / 2);
    for (size_t cut = 1; cut < 100; cut++) {
        struct backend_parts none = {.count = 0};
        ck_assert(!backend_parts_decode(message, length - cut, &none));
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("remote options")};
    tcase_add_test(cases[0], options_come_back);
    tcase_add_test(cases[0], addresses);
    tcase_add_test(cases[0], names);
    tcase_add_test(cases[0], a_file_of_workers);
    tcase_add_test(cases[0], more_workers_than_there_may_be);
    tcase_add_test(cases[0], details_come_back);
    tcase_add_test(cases[0], parts_come_back);
    return run_suite("remote options", cases, COUNT_OF(cases));
}
