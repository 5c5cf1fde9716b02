/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod is made of, what is taken for the pod that was asked for, and what is understood of
 * an API server's word on it. The answers are those of kube-apiserver 1.34, cut to what matters. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "backends/kubernetes/pod/pod_config.h"
#include "backends/kubernetes/pod/pod_state.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static json_t *ask(void)
{
    static const struct pod_choices choices = {
        .runtime_class = "gvisor", .service_account = "", .pull_secret = ""};
    static const struct owner owner = {.boot = "b-1", .space = "pid:[1] time:[2]", .pid = 7};
    struct run_description description = {
        .run_id = "0123456789abcdef0123456789abcdef",
        .limits = {.memory_bytes = 64000000, .scratch_bytes = 1 << 20},
    };
    json_auto_t *marks = owner_labels(&owner, description.run_id, 1000);
    json_auto_t *command = json_pack("[s, s]", "/.code-execute-guest", "without-network");
    const struct pod_terms terms = {
        .image = "registry.example/run@sha256:"
                 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .name = "code-execute-0",
        .owner = "f00d",
        .marks = marks,
        .deadline_s = 90,
        .command = command,
    };
    return pod_config_for_run(&description, &choices, &terms);
}

/* As an API server gives it back: with what it fills in, and without what is empty. */
static json_t *answer(const json_t *asked)
{
    json_t *made = json_deep_copy(asked);
    json_t *spec = json_object_get(made, "spec");
    json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
    static const char *const left_out[] = {"hostNetwork", "hostPID",        "hostIPC",
                                           "hostAliases", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        ck_assert_int_eq(json_object_del(spec, left_out[i]), 0);
    json_auto_t *filled = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:[{s:s, s:s, s:s, s:i}]}", "schedulerName", "default-scheduler",
        "serviceAccount", "default", "serviceAccountName", "default", "preemptionPolicy",
        "PreemptLowerPriority", "priority", 0, "tolerations", "effect", "NoExecute", "key",
        "node.kubernetes.io/not-ready", "operator", "Exists", "tolerationSeconds", 300);
    ck_assert_int_eq(json_object_update(spec, filled), 0);
    ck_assert_int_eq(json_object_set_new(container, "terminationMessagePath",
                                         json_string("/dev/termination-log")),
                     0);
    return made;
}

static void expect_same(const json_t *made)
{
    json_auto_t *asked = ask();
    char field[100] = "";
    ck_assert_msg(pod_attest(asked, made, field, sizeof(field)), "%s differs", field);
}

static void expect_other(const json_t *made, const char *expected)
{
    json_auto_t *asked = ask();
    char field[100] = "";
    ck_assert(!pod_attest(asked, made, field, sizeof(field)));
    ck_assert_str_eq(field, expected);
}

START_TEST(the_pod_that_was_asked_for_is_taken)
{
    json_auto_t *asked = ask();
    ck_assert_ptr_nonnull(asked);
    json_auto_t *made = answer(asked);
    expect_same(made);
}
END_TEST

static json_t *first_container(json_t *pod)
{
    return json_array_get(json_object_get(json_object_get(pod, "spec"), "containers"), 0);
}

START_TEST(each_change_of_an_admission_controller_is_seen)
{
    static const struct {
        const char *place; /* "" in the pod's spec, "container", or a member of one of them */
        const char *name;
        const char *value;
        const char *field;
    } changes[] = {
        {"spec", "hostNetwork", "true", "spec.hostNetwork"},
        {"spec", "hostPID", "true", "spec.hostPID"},
        {"spec", "shareProcessNamespace", "true", "spec.shareProcessNamespace"},
        {"spec", "automountServiceAccountToken", "true", "spec.automountServiceAccountToken"},
        {"spec", "enableServiceLinks", "true", "spec.enableServiceLinks"},
        {"spec", "initContainers", "[{\"name\": \"istio-init\"}]", "spec.initContainers"},
        {"spec", "ephemeralContainers", "[{\"name\": \"x\"}]", "spec.ephemeralContainers"},
        {"spec", "runtimeClassName", "\"runc\"", "spec.runtimeClassName"},
        {"spec", "activeDeadlineSeconds", "91", "spec.activeDeadlineSeconds"},
        {"spec", "securityContext", "{\"runAsUser\": 0}", "spec.securityContext"},
        {"spec", "volumes", "[{\"name\": \"home\", \"hostPath\": {\"path\": \"/\"}}]",
         "spec.volumes"},
        {"spec", "dnsPolicy", "\"ClusterFirst\"", "spec.dnsPolicy"},
        {"spec", "someNewMember", "true", "spec.someNewMember"},
        {"container", "image", "\"other\"", "spec.containers[0].image"},
        {"container", "command", "[\"/bin/sh\"]", "spec.containers[0].command"},
        {"container", "env", "[{\"name\": \"A\", \"value\": \"b\"}]", "spec.containers[0].env"},
        {"container", "envFrom", "[{}]", "spec.containers[0].envFrom"},
        {"container", "volumeMounts", "[]", "spec.containers[0].volumeMounts"},
        {"container", "securityContext", "{\"privileged\": true}",
         "spec.containers[0].securityContext"},
        {"container", "resources", "{}", "spec.containers[0].resources"},
        {"container", "lifecycle", "{\"postStart\": {}}", "spec.containers[0].lifecycle"},
        {"container", "tty", "true", "spec.containers[0].tty"},
    };
    json_auto_t *asked = ask();
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        json_auto_t *made = answer(asked);
        json_t *place = strcmp(changes[i].place, "spec") == 0 ? json_object_get(made, "spec")
                                                              : first_container(made);
        json_t *value = json_loads(changes[i].value, JSON_DECODE_ANY, NULL);
        ck_assert_int_eq(json_object_set_new(place, changes[i].name, value), 0);
        expect_other(made, changes[i].field);
    }
}
END_TEST

START_TEST(another_container_is_refused)
{
    json_auto_t *asked = ask();
    json_auto_t *made = answer(asked);
    json_t *containers = json_object_get(json_object_get(made, "spec"), "containers");
    ck_assert_int_eq(json_array_append_new(containers, json_pack("{s:s}", "name", "sidecar")), 0);
    expect_other(made, "spec.containers");
    ck_assert_int_eq(json_array_clear(containers), 0);
    expect_other(made, "spec.containers");
    ck_assert_int_eq(json_object_del(made, "spec"), 0);
    expect_other(made, "spec.containers");
}
END_TEST

START_TEST(labels_of_ours_must_be_there)
{
    json_auto_t *asked = ask();
    json_auto_t *made = answer(asked);
    json_t *labels = json_object_get(json_object_get(made, "metadata"), "labels");
    ck_assert_int_eq(json_object_set_new(labels, "added", json_string("x")), 0);
    expect_same(made);
    ck_assert_int_eq(json_object_del(labels, POD_LABEL_OWNER), 0);
    expect_other(made, "metadata.labels." POD_LABEL_OWNER);
}
END_TEST

START_TEST(a_claim_is_bound_to_the_pod_that_waits)
{
    json_auto_t *asked = ask();
    json_t *patch = NULL;
    json_t *claimed = NULL;
    ck_assert(pod_claim_write(asked, "5b0e-1", "aa", 2000, 130, &patch, &claimed));
    json_auto_t *expected = json_loads(
        "[{\"op\": \"test\", \"path\": \"/metadata/uid\", \"value\": \"5b0e-1\"},"
        " {\"op\": \"test\", \"path\": \"/metadata/labels/code-execute.state\", \"value\": "
        "\"idle\"},"
        " {\"op\": \"replace\", \"path\": \"/metadata/labels/code-execute.state\", \"value\": "
        "\"taken\"},"
        " {\"op\": \"replace\", \"path\": \"/metadata/labels/code-execute.run\", \"value\": "
        "\"aa\"},"
        " {\"op\": \"add\", \"path\": \"/metadata/annotations/code-execute.run\", \"value\": "
        "\"aa\"},"
        " {\"op\": \"add\", \"path\": \"/metadata/annotations/code-execute.latest\", \"value\": "
        "\"2000\"},"
        " {\"op\": \"add\", \"path\": \"/spec/activeDeadlineSeconds\", \"value\": 130}]",
        0, NULL);
    ck_assert_ptr_nonnull(expected);
    ck_assert(json_equal(patch, expected));
    json_auto_t *made = answer(claimed);
    char field[100] = "";
    ck_assert(pod_attest(claimed, made, field, sizeof(field)));
    ck_assert(!pod_attest(asked, made, field, sizeof(field)));
    json_decref(patch);
    json_decref(claimed);
}
END_TEST

static json_t *template_for(const char *run_id, uint64_t memory_bytes)
{
    static const struct pod_choices choices = {
        .runtime_class = "", .service_account = "", .pull_secret = ""};
    struct run_description description = {.limits = {.memory_bytes = memory_bytes}};
    json_auto_t *none = json_object();
    json_auto_t *command = json_pack("[s]", "/.code-execute-guest");
    const struct pod_terms terms = {.image = "a",
                                    .name = "",
                                    .owner = "",
                                    .marks = none,
                                    .deadline_s = 3600,
                                    .waits = true,
                                    .command = command};
    (void)snprintf(description.run_id, sizeof(description.run_id), "%s", run_id);
    return pod_config_template(&description, &choices, &terms);
}

START_TEST(nothing_of_a_run_is_in_a_pod_that_waits)
{
    json_auto_t *template = template_for("0123456789abcdef0123456789abcdef", 64000000);
    json_auto_t *same = template_for("ffffffffffffffffffffffffffffffff", 64000000);
    json_auto_t *other = template_for("0123456789abcdef0123456789abcdef", 65000000);
    json_auto_t *marks = json_object();
    const struct pod_terms terms = {.name = "code-execute-1",
                                    .owner = "f00d",
                                    .marks = marks,
                                    .deadline_s = 7620,
                                    .waits = true};
    json_auto_t *waiting = pod_config_waiting(template, &terms);
    ck_assert(json_equal(template, same));
    ck_assert(!json_equal(template, other));
    CLEANUP_FREE char *text = json_dumps(waiting, 0);
    ck_assert_ptr_null(strstr(text, "0123456789abcdef"));
    const json_t *labels = json_object_get(json_object_get(waiting, "metadata"), "labels");
    ck_assert_str_eq(json_string_value(json_object_get(labels, POD_LABEL_RUN)), POD_WAITING);
    ck_assert_str_eq(json_string_value(json_object_get(labels, POD_LABEL_STATE)), POD_IDLE);
    /* The template is as it was, and its pod's life can be claimed as a shorter one. */
    ck_assert(json_equal(template, same));
    const json_t *life = json_object_get(json_object_get(waiting, "spec"), "activeDeadlineSeconds");
    ck_assert_int_eq(json_integer_value(life), 7620);
}
END_TEST

START_TEST(quantities_have_the_form_of_the_server)
{
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = {{0, "0"},
                {1, "1"},
                {999, "999"},
                {1000, "1k"},
                {1024, "1024"},
                {1500, "1500"},
                {64000000, "64M"},
                {1048576, "1048576"},
                {1048576000, "1048576k"},
                {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[QUANTITY_SIZE];
        quantity_write(rows[i].value, text);
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

#define META                                                                    \
    "\"metadata\":{\"name\":\"code-execute-0\",\"uid\":\"5b0e-1\",\"labels\":{" \
    "\"code-execute.run\":\"0a\"},\"resourceVersion\":\"17\"}"

static enum pod_change take(const char *line, struct pod_state *state)
{
    enum pod_change change = POD_CHANGE_NONE;
    json_auto_t *object = NULL;
    ck_assert_msg(pod_watch_read(line, strlen(line), &change, state, &object), "%s", line);
    ck_assert_ptr_nonnull(object);
    return change;
}

START_TEST(a_pod_is_followed_from_start_to_end)
{
    struct pod_state state;
    ck_assert_int_eq(take("{\"type\":\"ADDED\",\"object\":{" META
                          ",\"status\":{\"phase\":\"Pending\"}}}",
                          &state),
                     POD_CHANGE_THERE);
    ck_assert_str_eq(state.name, "code-execute-0");
    ck_assert_str_eq(state.uid, "5b0e-1");
    ck_assert_str_eq(state.version, "17");
    ck_assert_str_eq(state.run, "0a");
    ck_assert_int_eq(state.phase, POD_PENDING);
    ck_assert(!state.running && !state.terminated && !pod_state_is_hopeless(&state));
    take("{\"type\":\"MODIFIED\",\"object\":{" META ",\"status\":{\"phase\":\"Running\","
         "\"containerStatuses\":[{\"name\":\"sidecar\",\"state\":{}},{\"name\":\"run\",\"state\":{"
         "\"running\":{\"startedAt\":\"x\"}}}]}}}",
         &state);
    ck_assert(state.running && !state.terminated);
    take("{\"type\":\"MODIFIED\",\"object\":{" META ",\"status\":{\"phase\":\"Failed\","
         "\"containerStatuses\":[{\"name\":\"run\",\"state\":{\"terminated\":{\"exitCode\":137,"
         "\"reason\":\"OOMKilled\"}}}]}}}",
         &state);
    ck_assert(!state.running && state.terminated);
    ck_assert_int_eq(state.exit_code, 137);
    ck_assert_str_eq(state.reason, "OOMKilled");
    ck_assert(pod_state_is_hopeless(&state));
    ck_assert_int_eq(take("{\"type\":\"DELETED\",\"object\":{" META "}}", &state),
                     POD_CHANGE_DELETED);
}
END_TEST

START_TEST(a_pod_that_cannot_run_says_why)
{
    static const struct {
        const char *status;
        const char *reason;
        const char *message;
    } rows[] = {
        {"{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"run\",\"state\":{\"waiting\":{"
         "\"reason\":\"ErrImagePull\",\"message\":\"not\\nfound\"}}}]}",
         "ErrImagePull", "not?found"},
        {"{\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\",\"message\":\"m\","
         "\"containerStatuses\":[{\"name\":\"run\",\"state\":{\"terminated\":{\"exitCode\":137,"
         "\"reason\":\"Error\"}}}]}",
         "DeadlineExceeded", "m"},
        {"{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
         "\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes\"}]}",
         "Unschedulable", "0/1 nodes"},
        {"{\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\",\"message\":\"too long\"}",
         "DeadlineExceeded", "too long"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char line[1024];
        struct pod_state state;
        (void)snprintf(line, sizeof(line),
                       "{\"type\":\"MODIFIED\",\"object\":{" META ",\"status\":%s}}",
                       rows[i].status);
        take(line, &state);
        ck_assert_str_eq(state.reason, rows[i].reason);
        ck_assert_str_eq(state.message, rows[i].message);
        ck_assert(pod_state_is_hopeless(&state) == (strcmp(rows[i].reason, "Unschedulable") != 0));
    }
}
END_TEST

START_TEST(a_watch_ends_in_words)
{
    struct pod_state state;
    ck_assert_int_eq(take("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
                          "\"resourceVersion\":\"99\"}}}",
                          &state),
                     POD_CHANGE_NONE);
    ck_assert_str_eq(state.version, "99");
    ck_assert_int_eq(take("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                          "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}",
                          &state),
                     POD_CHANGE_OUTDATED);
    ck_assert_int_eq(take("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,"
                          "\"message\":\"no \\u0007\"}}",
                          &state),
                     POD_CHANGE_FAILED);
    ck_assert_str_eq(state.message, "no ?");
}
END_TEST

START_TEST(what_is_no_event_is_refused)
{
    static const char *const lines[] = {
        "",
        "{",
        "[]",
        "{\"type\":\"ADDED\"}",
        "{\"type\":\"ADDED\",\"object\":[]}",
        "{\"type\":1,\"object\":{}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}",
        ("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"../x\",\"uid\":\"1\","
         "\"resourceVersion\":\"1\"}}}"),
        "{\"type\":\"BOOKMARK\",\"object\":{}}",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        enum pod_change change = POD_CHANGE_NONE;
        struct pod_state state;
        json_t *object = NULL;
        ck_assert_msg(!pod_watch_read(lines[i], strlen(lines[i]), &change, &state, &object), "%s",
                      lines[i]);
        ck_assert_ptr_null(object);
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("kubernetes pod");
    tcase_add_test(cases, the_pod_that_was_asked_for_is_taken);
    tcase_add_test(cases, each_change_of_an_admission_controller_is_seen);
    tcase_add_test(cases, another_container_is_refused);
    tcase_add_test(cases, labels_of_ours_must_be_there);
    tcase_add_test(cases, a_claim_is_bound_to_the_pod_that_waits);
    tcase_add_test(cases, nothing_of_a_run_is_in_a_pod_that_waits);
    tcase_add_test(cases, quantities_have_the_form_of_the_server);
    tcase_add_test(cases, a_pod_is_followed_from_start_to_end);
    tcase_add_test(cases, a_pod_that_cannot_run_says_why);
    tcase_add_test(cases, a_watch_ends_in_words);
    tcase_add_test(cases, what_is_no_event_is_refused);
    return run_suite("kubernetes pod", &cases, 1);
}
