/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a run without namespaces: they come back as they were sent, and bytes that are
 * nothing of the kind are not taken. */
#include <stdlib.h>

#include "backends/process/messages/process_options.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static char directory[] = "/srv/runs", relative[] = "runs";

static void free_bytes(struct wire_bytes *bytes)
{
    free(bytes->bytes);
}

START_TEST(options_come_back)
{
    static const struct {
        char *sent;
        const char *read;
    } cases[] = {{directory, "/srv/runs"}, {NULL, ""}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct process_options sent = {.scratch_directory = cases[i].sent};
        CLEANUP(free_bytes) struct wire_bytes bytes = {NULL, 0};
        CLEANUP(process_options_clear) struct process_options read = {.scratch_directory = NULL};
        ck_assert(process_options_write(&sent, &bytes));
        ck_assert(process_options_write(&sent, &bytes)); /* in the place of the former */
        ck_assert(process_options_read(&bytes, &read));
        ck_assert_str_eq(read.scratch_directory, cases[i].read);
    }
}
END_TEST

START_TEST(other_options_are_refused)
{
    const struct process_options sent = {.scratch_directory = relative};
    CLEANUP(free_bytes) struct wire_bytes bytes = {NULL, 0};
    struct process_options read = {.scratch_directory = directory};
    ck_assert(!process_options_read(&bytes, &read)); /* those of a run with namespaces */
    ck_assert(process_options_write(&sent, &bytes));
    ck_assert(!process_options_read(&bytes, &read));
    const struct process_options good = {.scratch_directory = directory};
    ck_assert(process_options_write(&good, &bytes));
    bytes.length--;
    ck_assert(!process_options_read(&bytes, &read));
    ck_assert_ptr_eq(read.scratch_directory, directory);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("options")};
    tcase_add_test(cases[0], options_come_back);
    tcase_add_test(cases[0], other_options_are_refused);
    return run_suite("process options", cases, COUNT_OF(cases));
}
