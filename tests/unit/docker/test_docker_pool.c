/* SPDX-License-Identifier: Apache-2.0 */
/* What docker mode keeps ready, without an engine: whose container fits whom, when one is made and
 * when it goes. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "backends/docker/container/container_config.h"
#include "backends/guest_runs/pool/warm_pool.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define SECOND    UINT64_C(1000000)
#define LIST(...) ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

static char engines[2]; /* two addresses */
#define ENGINE(index) ((struct engine *)(void *)&engines[index])

static const char *const seccomp[2] = {"without", "with"};
static const struct owner owner = {.boot = "b", .space = "pid:[1]", .pid = 7, .start = 9};

static struct run_description everyday(void)
{
    return (struct run_description){
        .run_id = "0123456789abcdef0123456789abcdef",
        .limits = {.wall_ms = 1000, .cpu_ms = 1500, .memory_bytes = 64 << 20, .processes = 16},
    };
}

static json_t *template_of(const struct run_description *description, const char *image)
{
    json_t *template = container_config_template(description, "", image, seccomp);
    ck_assert_ptr_nonnull(template);
    return template;
}

START_TEST(each_member_of_a_configuration_makes_another_template)
{
    struct run_description description = everyday();
    json_auto_t *template = template_of(&description, "one");
    json_auto_t *other_image = template_of(&description, "two");
    ck_assert(!json_equal(template, other_image));
    description.limits.wall_ms = 5000;
    (void)snprintf(description.run_id, sizeof(description.run_id), "f");
    json_auto_t *another_run = template_of(&description, "one");
    ck_assert(json_equal(template, another_run));
    uint64_t *const limits[] = {
        &description.limits.cpu_ms,         &description.limits.memory_bytes,
        &description.limits.processes,      &description.limits.open_files,
        &description.limits.file_bytes,     &description.limits.scratch_bytes,
        &description.limits.scratch_inodes,
    };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        *limits[i] += 1000;
        json_auto_t *other_limit = template_of(&description, "one");
        ck_assert_msg(!json_equal(template, other_limit), "limit %zu", i);
        *limits[i] -= 1000;
    }
    json_auto_t *other_runtime = container_config_template(&description, "crun", "one", seccomp);
    ck_assert(!json_equal(template, other_runtime));
}
END_TEST

START_TEST(nothing_of_a_run_is_in_a_waiting_container)
{
    struct run_description description = everyday();
    json_auto_t *template = template_of(&description, "one");
    json_auto_t *waiting = container_config_waiting(template, &owner, 1000000, 60);
    json_auto_t *cold = container_config_for_run(&description, "", "one", &owner, seccomp, 1000000);
    CLEANUP_FREE char *text = json_dumps(waiting, 0);
    CLEANUP_FREE char *control = json_dumps(cold, 0);
    ck_assert_ptr_null(strstr(text, description.run_id));
    ck_assert_ptr_nonnull(strstr(control, description.run_id));
    const json_t *labels = json_object_get(waiting, "Labels");
    /* The longest run that a policy can give, and ten minutes, beside the wait. */
    ck_assert_str_eq(json_string_value(json_object_get(labels, OWNER_LABEL_LATEST)), "1300660");
    ck_assert_uint_eq(json_object_size(json_object_get(template, "Labels")), 0);
    ck_assert_int_eq(json_object_del(waiting, "Labels"), 0);
    ck_assert_int_eq(json_object_del(cold, "Labels"), 0);
    ck_assert(json_equal(waiting, cold));
}
END_TEST

static bool has_argument(const json_t *template, const char *argument)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(json_object_get(template, "Entrypoint"), i, entry)
    {
        if (strcmp(json_string_value(entry), argument) == 0)
            return true;
    }
    return false;
}

START_TEST(with_packages_the_interpreter_imports_theirs_too)
{
    struct run_description description = everyday();
    description.argv = LIST("python3", "main.py");
    description.packages = (struct run_packages){.path = (char *)(uintptr_t) "/sets/sha256-x"};
    description.preparation = (struct run_preparation){
        .interpreter = RUN_INTERPRETER_PYTHON,
        .argument_count = 2,
        .program_argument = 1,
        .modules = LIST("json"),
        .named_modules = LIST("numpy", "pandas"),
    };
    json_auto_t *both = template_of(&description, "one");
    ck_assert(has_argument(both, "CODE_EXECUTE_IMPORT=json,numpy,pandas"));
    description.preparation.modules = LIST(NULL);
    json_auto_t *named = template_of(&description, "one");
    ck_assert(has_argument(named, "CODE_EXECUTE_IMPORT=numpy,pandas"));
    description.packages.path = (char *)(uintptr_t) "";
    json_auto_t *none = template_of(&description, "one");
    ck_assert(has_argument(none, "CODE_EXECUTE_IMPORT="));
}
END_TEST

START_TEST(an_interpreter_is_started_with_the_policys_part)
{
    struct run_description description = everyday();
    json_auto_t *template = template_of(&description, "one");
    description.argv = LIST("python3", "main.py", "the run's");
    description.environment = LIST("A=the policy's", "B=the run's");
    description.preparation = (struct run_preparation){
        .interpreter = RUN_INTERPRETER_PYTHON,
        .argument_count = 2,
        .program_argument = 1,
        .environment_count = 1,
        .modules = LIST("json", "re"),
        .named_modules = LIST("numpy"),
    };
    json_auto_t *waiting = template_of(&description, "one");
    const json_t *command = json_object_get(waiting, "Entrypoint");
    static const char *const told[] = {
        "A=the policy's",
        "CODE_EXECUTE_ARGUMENTS=2",
        "CODE_EXECUTE_IMPORT=json,re",
        "--",
        "python3",
        "main.py",
    };
    ck_assert_int_eq(container_config_interpreter(template), RUN_INTERPRETER_NONE);
    ck_assert_int_eq(container_config_interpreter(waiting), RUN_INTERPRETER_PYTHON);
    ck_assert_int_eq(container_config_interpreter(NULL), RUN_INTERPRETER_NONE);
    size_t length = json_array_size(json_object_get(template, "Entrypoint"));
    ck_assert_uint_eq(json_array_size(command), length + COUNT_OF(told));
    for (size_t i = 0; i < COUNT_OF(told); i++)
        ck_assert_str_eq(json_string_value(json_array_get(command, length + i)), told[i]);
    CLEANUP_FREE char *text = json_dumps(waiting, 0);
    ck_assert_ptr_null(strstr(text, "the run's"));
    json_auto_t *own = container_config_for_run(&description, "", "one", &owner, seccomp, 1000000);
    ck_assert(
        json_equal(json_object_get(own, "Entrypoint"), json_object_get(template, "Entrypoint")));
    description.argv = LIST("/usr/bin/pypy3", "main.py");
    json_auto_t *another = template_of(&description, "one");
    ck_assert(json_equal(another, template));
}
END_TEST

START_TEST(a_warm_pool_begins_with_a_demand)
{
    struct warm_pool warm_pools[WARM_POOLS] = {{.size = 0}};
    json_auto_t *template = json_pack("{s:i}", "a", 1);
    json_auto_t *equal = json_pack("{s:i}", "a", 1);
    ck_assert_ptr_null(warm_pool_demand(warm_pools, ENGINE(0), template, 0, SECOND, 1));
    struct warm_pool *warm_pool = warm_pool_demand(warm_pools, ENGINE(0), template, 2, SECOND, 1);
    ck_assert_ptr_nonnull(warm_pool);
    ck_assert_ptr_eq(warm_pool_find(warm_pools, ENGINE(0), equal), warm_pool);
    ck_assert_ptr_null(warm_pool_find(warm_pools, ENGINE(1), equal));
    ck_assert_ptr_eq(warm_pool_demand(warm_pools, ENGINE(0), equal, 3, SECOND, 2), warm_pool);
    ck_assert_uint_eq(warm_pool->size, 3);
    for (int i = 0; i < WARM_POOLS - 1; i++) {
        json_auto_t *other = json_pack("{s:i}", "b", i);
        ck_assert_ptr_nonnull(warm_pool_demand(warm_pools, ENGINE(0), other, 1, SECOND, 1));
    }
    json_auto_t *last = json_pack("{s:i}", "c", 1);
    ck_assert_ptr_null(warm_pool_demand(warm_pools, ENGINE(0), last, 1, SECOND, 1));
    warm_pool_clear(warm_pool);
    ck_assert_ptr_eq(warm_pool_demand(warm_pools, ENGINE(0), last, 1, SECOND, 1), warm_pool);
    for (size_t i = 0; i < WARM_POOLS; i++)
        warm_pool_clear(&warm_pools[i]);
}
END_TEST

START_TEST(a_container_is_made_when_no_run_is_under_way)
{
    struct warm_pool warm_pools[WARM_POOLS] = {{.size = 0}};
    json_auto_t *template = json_pack("{s:i}", "a", 1);
    uint64_t now = 100 * SECOND;
    struct warm_pool *warm_pool =
        warm_pool_demand(warm_pools, ENGINE(0), template, 1, 60 * SECOND, now);
    ck_assert_uint_eq(warm_pool_due(warm_pool, 0), WARM_POOL_QUIET_US);
    ck_assert_uint_eq(warm_pool_due(warm_pool, now), now + WARM_POOL_QUIET_US);
    /* There is always a run: one is made after some patience all the same. */
    ck_assert_uint_eq(warm_pool_due(warm_pool, now + 9 * SECOND), now + WARM_POOL_PATIENCE_US);
    warm_pool_demand(warm_pools, ENGINE(0), template, 1, 60 * SECOND, now + SECOND);
    ck_assert_uint_eq(warm_pool_due(warm_pool, now + 9 * SECOND), now + WARM_POOL_PATIENCE_US);
    warm_pool->not_before_us = now + 50 * SECOND;
    ck_assert_uint_eq(warm_pool_due(warm_pool, now), now + 50 * SECOND);
    warm_pool->not_before_us = 0;
    warm_pool->making = 1;
    warm_pool_count(warm_pool, now);
    ck_assert_uint_eq(warm_pool_due(warm_pool, now), 0);
    warm_pool->making = 0;
    warm_pool_count(warm_pool, now + 20 * SECOND);
    ck_assert_uint_eq(warm_pool_due(warm_pool, now + 30 * SECOND),
                      now + 20 * SECOND + WARM_POOL_PATIENCE_US);
    warm_pool_clear(warm_pool);
    ck_assert_uint_eq(warm_pool_due(warm_pool, 0), 0);
}
END_TEST

START_TEST(one_that_cannot_be_filled_is_tried_less_and_less_often)
{
    struct warm_pool warm_pool = {.size = 1};
    static const uint64_t pauses[] = {5, 10, 20, 40, 60, 60};
    for (size_t i = 0; i < COUNT_OF(pauses); i++) {
        warm_pool_fail(&warm_pool, 100 * SECOND);
        ck_assert_uint_eq(warm_pool.not_before_us, (100 + pauses[i]) * SECOND);
    }
    warm_pool.failures = 0; /* one was ready */
    warm_pool_fail(&warm_pool, 100 * SECOND);
    ck_assert_uint_eq(warm_pool.not_before_us, 105 * SECOND);
}
END_TEST

START_TEST(a_warm_pool_is_kept_while_it_is_in_demand)
{
    struct warm_pool warm_pools[WARM_POOLS] = {{.size = 0}};
    json_auto_t *template = json_pack("{s:i}", "a", 1);
    struct warm_pool *warm_pool =
        warm_pool_demand(warm_pools, ENGINE(0), template, 1, 60 * SECOND, 100 * SECOND);
    ck_assert_uint_eq(warm_pool_idle_time(warm_pool), 160 * SECOND);
    warm_pool_demand(warm_pools, ENGINE(0), template, 1, 60 * SECOND, 150 * SECOND);
    ck_assert_uint_eq(warm_pool_idle_time(warm_pool), 210 * SECOND);
    /* The policy no longer wants any. */
    warm_pool_demand(warm_pools, ENGINE(0), template, 0, 60 * SECOND, 150 * SECOND);
    ck_assert_uint_eq(warm_pool_idle_time(warm_pool), 150 * SECOND);
    ck_assert_uint_eq(warm_pool_due(warm_pool, 0), 0);
    warm_pool_clear(warm_pool);
    ck_assert_uint_eq(warm_pool_idle_time(warm_pool), 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker pool");
    tcase_add_test(cases, each_member_of_a_configuration_makes_another_template);
    tcase_add_test(cases, nothing_of_a_run_is_in_a_waiting_container);
    tcase_add_test(cases, an_interpreter_is_started_with_the_policys_part);
    tcase_add_test(cases, with_packages_the_interpreter_imports_theirs_too);
    tcase_add_test(cases, a_warm_pool_begins_with_a_demand);
    tcase_add_test(cases, a_container_is_made_when_no_run_is_under_way);
    tcase_add_test(cases, one_that_cannot_be_filled_is_tried_less_and_less_often);
    tcase_add_test(cases, a_warm_pool_is_kept_while_it_is_in_demand);
    return run_suite("docker pool", &cases, 1);
}
