/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway and the docker backend tell each other: it comes back as it was sent, and bytes
 * that are nothing of the kind are not taken. */
#include <string.h>

#include "backends/docker/messages/docker_messages.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static char host[] = "unix:///s", runtime[] = "crun", relative[] = "certificates";

static void free_bytes(struct wire_bytes *bytes)
{
    free(bytes->bytes);
}

START_TEST(options_come_back)
{
    const struct docker_options sent = {.host = host, .tls = 1, .runtime = runtime};
    CLEANUP(free_bytes) struct wire_bytes bytes = {NULL, 0};
    CLEANUP(docker_options_clear) struct docker_options read = {.tls = 0};
    ck_assert(docker_options_write(&sent, &bytes));
    ck_assert(docker_options_write(&sent, &bytes)); /* in the place of the former */
    ck_assert(docker_options_read(&bytes, &read));
    ck_assert_str_eq(read.host, host);
    ck_assert_str_eq(read.context, "");
    ck_assert_uint_eq(read.tls, 1);
    ck_assert_str_eq(read.runtime, runtime);
}
END_TEST

START_TEST(other_options_are_refused)
{
    const struct docker_options sent = {.certificates = relative};
    CLEANUP(free_bytes) struct wire_bytes bytes = {NULL, 0};
    struct docker_options read = {.tls = 7};
    ck_assert(!docker_options_read(&bytes, &read));
    ck_assert(docker_options_write(&sent, &bytes));
    ck_assert(!docker_options_read(&bytes, &read));
    bytes.length--;
    ck_assert(!docker_options_read(&bytes, &read));
    ck_assert_uint_eq(read.tls, 7);
}
END_TEST

START_TEST(a_report_comes_back)
{
    const struct engine_report sent = {.name = "docker", .api = "1.41", .user_namespace = 1};
    struct run_details details;
    engine_report_write(&sent, &details);
    const struct engine_report read = engine_report_read(&details);
    ck_assert_mem_eq(&read, &sent, sizeof(sent));
}
END_TEST

START_TEST(another_report_says_nothing)
{
    static const struct engine_report nothing;
    struct run_details details = {.length = 0};
    struct engine_report read = engine_report_read(&details);
    ck_assert_mem_eq(&read, &nothing, sizeof(nothing));
    const struct engine_report sent = {.name = "docker"};
    engine_report_write(&sent, &details);
    for (details.length--; details.length > 0; details.length--) {
        read = engine_report_read(&details);
        ck_assert_mem_eq(&read, &nothing, sizeof(nothing));
    }
}
END_TEST

START_TEST(the_longest_report_has_room)
{
    struct engine_report sent = {.rootless = 1, .user_namespace = 1};
    struct run_details details;
    memset(sent.name, 'n', sizeof(sent.name) - 1);
    memset(sent.version, 'v', sizeof(sent.version) - 1);
    memset(sent.api, 'a', sizeof(sent.api) - 1);
    memset(sent.runtime, 'r', sizeof(sent.runtime) - 1);
    memset(sent.runtime_version, 'w', sizeof(sent.runtime_version) - 1);
    memset(sent.kernel, 'k', sizeof(sent.kernel) - 1);
    engine_report_write(&sent, &details);
    const struct engine_report read = engine_report_read(&details);
    ck_assert_mem_eq(&read, &sent, sizeof(sent));
}
END_TEST

START_TEST(the_kernel_is_noted_in_a_report)
{
    struct engine_report sent = {.name = "docker", .runtime = "runsc", .rootless = 1};
    struct run_details details;
    engine_report_write(&sent, &details);
    engine_report_note_kernel("gVisor", &details);
    const struct engine_report read = engine_report_read(&details);
    memcpy(sent.kernel, "gVisor", sizeof("gVisor"));
    ck_assert_mem_eq(&read, &sent, sizeof(sent));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker messages");
    tcase_add_test(cases, options_come_back);
    tcase_add_test(cases, other_options_are_refused);
    tcase_add_test(cases, a_report_comes_back);
    tcase_add_test(cases, another_report_says_nothing);
    tcase_add_test(cases, the_longest_report_has_room);
    tcase_add_test(cases, the_kernel_is_noted_in_a_report);
    return run_suite("docker messages", &cases, 1);
}
