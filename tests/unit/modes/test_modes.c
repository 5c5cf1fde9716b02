/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modes: every row of the table is walked. Each says all that the gateway asks of it, and what
 * it says is what a backend is asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "run/describe.h"
#include "tap_suite.h"
#include "vocabulary/sandbox_mode.h"

static const struct sandbox_mode_row *row_of(int mode)
{
    return sandbox_mode_row((enum sandbox_mode)mode);
}

START_TEST(each_row_is_whole)
{
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = row_of(i);
        enum sandbox_mode found = SANDBOX_MODE_COUNT;
        ck_assert_ptr_nonnull(row->name);
        ck_assert(sandbox_mode_parse(row->name, &found));
        ck_assert_msg((int)found == i, "%s stands for two modes", row->name);
        ck_assert_msg(row->program && row->program_remedy, "%s: no program", row->name);
        ck_assert_msg(row->grace_ms > 0, "%s: no time to end", row->name);
        ck_assert_msg(row->layer_remedy != NULL, "%s", row->name);
        ck_assert_msg(row_of((int)row->checked_in)->isolation, "%s: checks without a sandbox",
                      row->name);
    }
}
END_TEST

/* What does not isolate asks for a capability of its own, and so does a variant; what isolates has
 * layers, and details. */
START_TEST(isolation_is_either_there_or_asked_for)
{
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = row_of(i);
        bool isolates = row->isolation != RUN_ISOLATION_NONE;
        ck_assert_msg(isolates == (row->mandatory_layers != 0), "%s", row->name);
        ck_assert_msg(isolates == !!row->write_details, "%s", row->name);
        ck_assert_msg((isolates && !row->variant_of) == (row->needs == CAPABILITY_EXEC), "%s",
                      row->name);
        ck_assert_msg(isolates || !row->shows_workspace, "%s", row->name);
        ck_assert_msg(row->shows_workspace == !!row->workspace_remedy, "%s", row->name);
        ck_assert_uint_eq(row->mandatory_layers & ~LAYERS_ALL, 0);
    }
}
END_TEST

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

/* The description of a trial has the layers of the row, and no image where there are none. */
START_TEST(a_description_follows_the_row)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *policy = policy_load_builtin(&error);
    ck_assert(policy);
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct trial_subject subject = {
            .policy = policy, .mode = (enum sandbox_mode)i, .image = "i:1"};
        CLEANUP(run_description_clear) struct run_description description = {0};
        ck_assert(describe_trial(&subject, &description));
        uint64_t missing = row_of(i)->mandatory_layers & ~description.required;
        ck_assert_msg(missing == 0, "%s: %llx", row_of(i)->name, (unsigned long long)missing);
        ck_assert_uint_eq(description.isolation, row_of(i)->isolation);
        ck_assert_msg(!row_of(i)->has_images == !description.image.name, "%s", row_of(i)->name);
    }
}
END_TEST

START_TEST(a_missing_layer_has_a_remedy)
{
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        for (int layer = 0; layer < LAYER_COUNT; layer++) {
            const char *hint = row_of(i)->layer_remedy((enum isolation_layer)layer, 0);
            ck_assert_msg(strlen(hint) > 10, "%s, layer %d: %s", row_of(i)->name, layer, hint);
        }
}
END_TEST

/* Nothing else stands between a program without namespaces and the gateway. A new kernel without it
 * has it turned off, or a container's seccomp profile forbids it. */
START_TEST(a_kernel_that_is_too_old_is_named)
{
    const struct sandbox_mode_row *row = row_of(SANDBOX_MODE_UNPRIVILEGED);
    const char *remedy = row->layer_remedy(LAYER_LANDLOCK, EOPNOTSUPP);
    struct utsname kernel;
    unsigned major = 0;
    unsigned minor = 0;
    ck_assert_int_eq(uname(&kernel), 0);
    ck_assert_int_eq(sscanf(kernel.release, "%u.%u", &major, &minor), 2);
    bool is_old = major < 6 || (major == 6 && minor < 12);
    ck_assert_msg(strstr(remedy, is_old ? "Linux 6.12" : "seccomp profile"), "%s: %s",
                  kernel.release, remedy);
    ck_assert_ptr_null(strstr(row->layer_remedy(LAYER_LANDLOCK, ENOSYS), "Linux 6.12"));
    ck_assert_uint_eq(row->mandatory_layers & ~row->possible_layers, 0);
}
END_TEST

START_TEST(a_refusal_lists_each_mode)
{
    static const char text[] = "{\"modes\":{\"default\":\"vm\"}}";
    struct error error;
    ck_assert(!policy_load_text("test", text, sizeof(text) - 1, &error));
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        ck_assert_msg(!strstr(error.message, row_of(i)->name) == !!row_of(i)->variant_of, "%s: %s",
                      row_of(i)->name, error.message);
}
END_TEST

static enum sandbox_mode number_of(const struct sandbox_mode_row *row)
{
    enum sandbox_mode mode = SANDBOX_MODE_COUNT;
    ck_assert(sandbox_mode_parse(row->name, &mode));
    return mode;
}

/* Nothing is a variant that the table does not list as one, and none of them is one of another. */
START_TEST(a_variant_takes_the_place_of_a_mode)
{
    static const enum sandbox_mode variants[] = {
#define V(constant, row) SANDBOX_MODE_##constant,
        SANDBOX_VARIANTS(V)
#undef V
    };
    size_t count = 0;
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        count += row_of(i)->variant_of != NULL;
    ck_assert_uint_eq(count, COUNT_OF(variants));
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        const struct sandbox_mode_row *of = row_of((int)variants[i])->variant_of;
        ck_assert_ptr_nonnull(of);
        ck_assert_ptr_null(of->variant_of);
        ck_assert_str_eq(row_of((int)variants[i])->program, of->program);
        struct policy policy = {.process_means = variants[i]};
        ck_assert_int_eq(policy_mode_named(&policy, number_of(of)), variants[i]);
        ck_assert_int_eq(policy_mode_named(&policy, SANDBOX_MODE_NONE), SANDBOX_MODE_NONE);
        policy.process_means = number_of(of);
        ck_assert_int_eq(policy_mode_named(&policy, number_of(of)), number_of(of));
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("modes")};
    tcase_add_test(cases[0], each_row_is_whole);
    tcase_add_test(cases[0], isolation_is_either_there_or_asked_for);
    tcase_add_test(cases[0], a_description_follows_the_row);
    tcase_add_test(cases[0], a_missing_layer_has_a_remedy);
    tcase_add_test(cases[0], a_kernel_that_is_too_old_is_named);
    tcase_add_test(cases[0], a_refusal_lists_each_mode);
    tcase_add_test(cases[0], a_variant_takes_the_place_of_a_mode);
    return run_suite("modes", cases, COUNT_OF(cases));
}
