/* SPDX-License-Identifier: Apache-2.0 */
/* What a claim of agent-sandbox asks for, what is understood of the server's word on it, and whose
 * a sandbox is. What of its pod may differ: tests/kubernetes/test_fake_claims.py. */
#include <check.h>
#include <string.h>

#include "backends/kubernetes/claim/claim_config.h"
#include "backends/kubernetes/claim/claim_state.h"
#include "base/cleanup.h"
#include "tap_suite.h"

START_TEST(quantities_are_read)
{
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0},
        {"1048576", 1 << 20},
        {"256000000", 256000000},
        {"256M", 256000000},
        {"250k", 250000},
        {"1Ki", 1024},
        {"512Mi", UINT64_C(512) << 20},
        {"3Gi", UINT64_C(3) << 30},
        {"2Ti", UINT64_C(2) << 40},
        {"4T", UINT64_C(4000000000000)},
        {"5G", UINT64_C(5000000000)},
    };
    static const char *const none[] = {
        "",  "Mi", "1.5Gi", "1e3", "-1", "100m", "1mi", "1 Mi", " 1", "0x1", "99999999999999999999",
        NULL};
    uint64_t value = 7;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_msg(quantity_read(rows[i].text, &value), "%s", rows[i].text);
        ck_assert_uint_eq(value, rows[i].value);
    }
    value = 7;
    for (size_t i = 0; i < COUNT_OF(none); i++)
        ck_assert_msg(!quantity_read(none[i], &value), "%s", none[i] ? none[i] : "NULL");
    ck_assert(!quantity_read("999999999999999999Ti", &value));
}
END_TEST

START_TEST(times_are_read)
{
    ck_assert_int_eq(claim_time_read("1970-01-02T00:00:01Z"), 86401);
    ck_assert_int_eq(claim_time_read("2026-11-29T00:15:52Z"), 1795911352);
    ck_assert_int_eq(claim_time_read("2026-11-29T00:15:52+01:00"), 0);
    ck_assert_int_eq(claim_time_read("2026-11-29"), 0);
    ck_assert_int_eq(claim_time_read(""), 0);
    ck_assert_int_eq(claim_time_read(NULL), 0);
}
END_TEST

static json_t *write_claim(void)
{
    json_auto_t *marks = json_pack("{s:s}", "code-execute.pid", "7");
    const struct claim_terms terms = {.name = "code-execute-0",
                                      .pool = "warm",
                                      .owner = "f00d",
                                      .run_id = "aa",
                                      .marks = marks,
                                      .latest_s = 1795911352};
    return claim_write(&terms);
}

START_TEST(a_claim_has_an_end)
{
    json_auto_t *claim = write_claim();
    json_auto_t *wanted = json_pack("{s:{s:s}, s:{s:s, s:s, s:i}}", "warmPoolRef", "name", "warm",
                                    "lifecycle", "shutdownTime", "2026-11-29T00:15:52Z",
                                    "shutdownPolicy", "Delete", "ttlSecondsAfterFinished", 60);
    ck_assert(json_equal(json_object_get(claim, "spec"), wanted));
}
END_TEST

START_TEST(what_a_newer_version_adds_is_no_difference)
{
    json_auto_t *claim = write_claim();
    json_auto_t *made = json_deep_copy(claim);
    json_t *spec = json_object_get(made, "spec");
    char field[100] = "";
    ck_assert_int_eq(
        json_object_set_new(json_object_get(spec, "lifecycle"), "more", json_string("x")), 0);
    ck_assert_int_eq(json_object_set_new(spec, "env", json_array()), 0);
    ck_assert(claim_attest(claim, made, field, sizeof(field)));
    ck_assert_int_eq(json_object_set_new(spec, "more", json_string("x")), 0);
    ck_assert(!claim_attest(claim, made, field, sizeof(field)));
    ck_assert_str_eq(field, "spec.more");
}
END_TEST

/* status "": there is no condition. */
static struct claim_state read_claim(const char *status, const char *reason, const char *sandbox)
{
    struct claim_state state = {.word = CLAIM_REFUSED};
    json_auto_t *claim =
        json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:{s:s}, s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}}",
                  "metadata", "name", "c", "uid", "u", "resourceVersion", "5", "creationTimestamp",
                  "1970-01-02T00:00:01Z", "status", "sandbox", "name", sandbox, "conditions",
                  "type", "Finished", "status", "True", "reason", "X", "type", "Ready", "status",
                  status, "reason", reason);
    ck_assert(claim_state_read(claim, &state));
    ck_assert_int_eq(state.created_s, 86401);
    return state;
}

START_TEST(a_claim_is_bound_when_it_is_ready_and_has_a_sandbox)
{
    ck_assert_int_eq(read_claim("True", "DependenciesReady", "s").word, CLAIM_BOUND);
    ck_assert_str_eq(read_claim("True", "DependenciesReady", "s").sandbox, "s");
    ck_assert_int_eq(read_claim("True", "DependenciesReady", "").word, CLAIM_WAITS);
    ck_assert_int_eq(read_claim("True", "DependenciesReady", "../s").word, CLAIM_WAITS);
    ck_assert_int_eq(read_claim("True", "DependenciesReady", "..").word, CLAIM_WAITS);
    ck_assert_int_eq(read_claim("False", "DependenciesNotReady", "s").word, CLAIM_WAITS);
    ck_assert_int_eq(read_claim("Unknown", "", "s").word, CLAIM_WAITS);
    ck_assert_int_eq(read_claim("False", "WarmPoolNotFound", "").word, CLAIM_REFUSED);
}
END_TEST

START_TEST(other_objects_are_no_claims)
{
    static const char *const texts[] = {
        "[]", "{}", "{\"metadata\":{\"name\":\"c\",\"uid\":\"u\"}}",
        "{\"metadata\":{\"name\":\"a/b\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}"};
    struct claim_state state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_auto_t *object = json_loads(texts[i], 0, NULL);
        ck_assert(object && !claim_state_read(object, &state));
    }
}
END_TEST

static json_t *sandbox_of(const char *version, const char *kind, const char *uid, int controls)
{
    return json_pack("{s:{s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:s, s:b}]}}", "metadata", "name", "s",
                     "uid", "u-s", "annotations", "agents.x-k8s.io/pod-name", "p",
                     "ownerReferences", "apiVersion", version, "kind", kind, "uid", uid,
                     "controller", controls);
}

static bool is_of_claim(json_t *sandbox)
{
    json_auto_t *taken = sandbox;
    char uid[POD_VERSION_LIMIT + 1];
    char pod[POD_NAME_LIMIT + 1];
    if (!claim_sandbox_read(taken, "u-c", uid, pod))
        return false;
    ck_assert_str_eq(uid, "u-s");
    ck_assert_str_eq(pod, "p");
    return true;
}

START_TEST(a_sandbox_is_that_of_the_claim_by_uid_alone)
{
    static const char group[] = "extensions.agents.x-k8s.io/v1beta1";
    ck_assert(is_of_claim(sandbox_of(group, "SandboxClaim", "u-c", 1)));
    ck_assert(is_of_claim(sandbox_of("extensions.agents.x-k8s.io/v1", "SandboxClaim", "u-c", 1)));
    ck_assert(!is_of_claim(sandbox_of(group, "SandboxClaim", "u-d", 1)));
    ck_assert(!is_of_claim(sandbox_of(group, "SandboxClaim", "u-c", 0)));
    ck_assert(!is_of_claim(sandbox_of(group, "SandboxWarmPool", "u-c", 1)));
    ck_assert(!is_of_claim(sandbox_of("extensions.agents.x-k8s.iox/v1", "SandboxClaim", "u-c", 1)));
    ck_assert(!is_of_claim(sandbox_of("extensions.agents.x-k8s.io", "SandboxClaim", "u-c", 1)));
    ck_assert(!is_of_claim(json_object()));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("kubernetes claim");
    tcase_add_test(cases, quantities_are_read);
    tcase_add_test(cases, times_are_read);
    tcase_add_test(cases, a_claim_has_an_end);
    tcase_add_test(cases, what_a_newer_version_adds_is_no_difference);
    tcase_add_test(cases, a_claim_is_bound_when_it_is_ready_and_has_a_sandbox);
    tcase_add_test(cases, other_objects_are_no_claims);
    tcase_add_test(cases, a_sandbox_is_that_of_the_claim_by_uid_alone);
    return run_suite("kubernetes claim", &cases, 1);
}
