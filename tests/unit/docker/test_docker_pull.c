/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of an engine's report on a fetch: how far it is, in one line, and why it was
 * refused. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "backends/docker/run/pull_progress.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static void take(struct pull_progress *progress, const char *line)
{
    pull_progress_take(progress, line, strlen(line));
}

static void expect_text(const struct pull_progress *progress, const char *expected)
{
    char text[256];
    pull_progress_text(progress, "a:1", text, sizeof(text));
    ck_assert_str_eq(text, expected);
}

START_TEST(a_fetch_from_start_to_end)
{
    static const struct {
        const char *line;
        const char *text;
    } steps[] = {
        {"{\"status\":\"Pulling from library/a\",\"id\":\"1\"}", "pulling a:1"},
        {"{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"x\"}",
         "pulling a:1: 0 of 1 layers, 0.0 of 0.0 MB"},
        {"{\"status\":\"Waiting\",\"progressDetail\":{},\"id\":\"y\"}",
         "pulling a:1: 0 of 2 layers, 0.0 of 0.0 MB"},
        {"{\"status\":\"Downloading\",\"progressDetail\":{\"current\":1500000,\"total\":4000000},"
         "\"id\":\"x\"}",
         "pulling a:1: 0 of 2 layers, 1.5 of 4.0 MB"},
        {"{\"status\":\"Downloading\",\"progressDetail\":{\"current\":3000000,\"total\":4000000},"
         "\"id\":\"x\"}",
         "pulling a:1: 0 of 2 layers, 3.0 of 4.0 MB"},
        {"{\"status\":\"Download complete\",\"progressDetail\":{},\"id\":\"x\"}",
         "pulling a:1: 1 of 2 layers, 4.0 of 4.0 MB"},
        /* Of the bytes on the disk, not of the fetch. */
        {"{\"status\":\"Extracting\",\"progressDetail\":{\"current\":1,\"total\":9000000},"
         "\"id\":\"x\"}",
         "pulling a:1: 1 of 2 layers, 4.0 of 4.0 MB"},
        {"{\"status\":\"Already exists\",\"progressDetail\":{},\"id\":\"y\"}",
         "pulling a:1: 2 of 2 layers, 4.0 of 4.0 MB"},
        {"{\"status\":\"Status: Downloaded newer image for a:1\"}",
         "pulling a:1: 2 of 2 layers, 4.0 of 4.0 MB"},
    };
    struct pull_progress progress = {.layer_count = 0};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        take(&progress, steps[i].line);
        expect_text(&progress, steps[i].text);
    }
    ck_assert_str_eq(progress.refusal, "");
}
END_TEST

START_TEST(the_first_refusal_counts_and_is_printable)
{
    struct pull_progress progress = {.layer_count = 0};
    take(&progress, "{\"errorDetail\":{\"message\":\"x\"},\"error\":\"no\\r\\n\\u00e9\\u0007\"}");
    ck_assert_str_eq(progress.refusal, "no     ");
    take(&progress, "{\"error\":\"another\"}");
    ck_assert_str_eq(progress.refusal, "no     ");
    struct pull_progress other = {.layer_count = 0};
    take(&other, "{\"message\":\"pull access denied\"}");
    ck_assert_str_eq(other.refusal, "pull access denied");
}
END_TEST

START_TEST(a_long_refusal_is_cut)
{
    char line[1000] = "{\"error\":\"";
    struct pull_progress progress = {.layer_count = 0};
    memset(line + strlen(line), 'a', 900);
    (void)strcat(line, "\"}");
    take(&progress, line);
    ck_assert_uint_eq(strlen(progress.refusal), 150);
}
END_TEST

START_TEST(an_invalid_report_changes_nothing)
{
    static const char *const lines[] = {
        "",
        "not json",
        "[]",
        "null",
        "{",
        "{\"id\":\"x\"}",
        "{\"status\":\"Downloading\"}",
        "{\"status\":7,\"id\":\"x\"}",
        "{\"status\":\"Something new\",\"id\":\"x\"}",
        "{\"status\":\"downloading\",\"id\":\"x\"}",
        "{\"error\":7,\"message\":[]}",
    };
    static const struct pull_progress nothing;
    struct pull_progress progress = {.layer_count = 0};
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        take(&progress, lines[i]);
    pull_progress_take(&progress, "\xff\0\xfe", 3);
    ck_assert_mem_eq(&progress, &nothing, sizeof(progress));
}
END_TEST

START_TEST(invalid_figures_count_as_0)
{
    static const char *const details[] = {"{\"current\":-5,\"total\":-1}", "{\"current\":\"9\"}",
                                          "{\"current\":1.5e9}", "7", "null"};
    for (size_t i = 0; i < COUNT_OF(details); i++) {
        char line[200];
        struct pull_progress progress = {.layer_count = 0};
        (void)snprintf(line, sizeof(line),
                       "{\"status\":\"Downloading\",\"id\":\"x\",\"progressDetail\":%s}",
                       details[i]);
        take(&progress, line);
        expect_text(&progress, "pulling a:1: 0 of 1 layers, 0.0 of 0.0 MB");
    }
}
END_TEST

START_TEST(layers_beyond_the_limit_are_not_counted)
{
    struct pull_progress progress = {.layer_count = 0};
    for (int i = 0; i < PULL_LAYERS_LIMIT + 10; i++) {
        char line[100];
        (void)snprintf(line, sizeof(line), "{\"status\":\"Pull complete\",\"id\":\"%d\"}", i);
        take(&progress, line);
        take(&progress, line);
    }
    ck_assert_uint_eq(progress.layer_count, PULL_LAYERS_LIMIT);
    expect_text(&progress, "pulling a:1: 128 of 128 layers, 0.0 of 0.0 MB");
}
END_TEST

START_TEST(long_ids_are_one_layer_by_their_beginning)
{
    struct pull_progress progress = {.layer_count = 0};
    take(&progress, "{\"status\":\"Waiting\",\"id\":\"0123456789abcdefX\"}");
    take(&progress, "{\"status\":\"Pull complete\",\"id\":\"0123456789abcdefY\"}");
    expect_text(&progress, "pulling a:1: 1 of 1 layers, 0.0 of 0.0 MB");
}
END_TEST

START_TEST(texts_fit_into_their_buffers)
{
    char image[300];
    struct pull_progress progress = {.layer_count = 0};
    take(&progress, "{\"status\":\"Waiting\",\"id\":\"x\"}");
    memset(image, 'i', sizeof(image) - 1);
    image[sizeof(image) - 1] = '\0';
    for (size_t size = 1; size <= 256; size++) {
        char text[257];
        memset(text, '#', sizeof(text));
        pull_progress_text(&progress, image, text, size);
        ck_assert_uint_lt(strnlen(text, sizeof(text)), size);
        ck_assert_int_eq(text[size], '#');
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker pull");
    tcase_add_test(cases, a_fetch_from_start_to_end);
    tcase_add_test(cases, the_first_refusal_counts_and_is_printable);
    tcase_add_test(cases, a_long_refusal_is_cut);
    tcase_add_test(cases, an_invalid_report_changes_nothing);
    tcase_add_test(cases, invalid_figures_count_as_0);
    tcase_add_test(cases, layers_beyond_the_limit_are_not_counted);
    tcase_add_test(cases, long_ids_are_one_layer_by_their_beginning);
    tcase_add_test(cases, texts_fit_into_their_buffers);
    return run_suite("docker pull", &cases, 1);
}
