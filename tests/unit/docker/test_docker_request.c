/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a model's request to the container's configuration, by the same functions as in a gateway
 * and its backend: whatever the request says, the configuration is the constant but for the image's
 * id, the labels, the time limits, and what operator and gateway settle; and nothing of the program
 * is in it.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "backends/docker/container/container_config.h"
#include "backends/docker/container/embedded_texts.h"
#include "backends/docker/messages/docker_messages.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "docker_request.h"
#include "gate/gate.h"
#include "sanitizers.h"
#include "tap_suite.h"
#include "vocabulary/environment.h"

/* About 10 s of one core; CODE_EXECUTE_TEST_LONG=1 in the environment: the whole million. */
#define ROUNDS      30000
#define ROUNDS_LONG 1000000

/* A sanitized program takes ten times as long; it is there for the memory, not for the number. */
#define ROUNDS_DIVISOR (UNDER_ADDRESS_SANITIZER ? 20 : 1)

#define WHOLE_EVERY 64 /* rounds with the real seccomp profile, down to the text that is sent */
#define POLICIES    4
#define NOW         INT64_C(1700000000)
#define BODY_SIZE   (64 << 10)

static const struct owner owner = {.boot = "b", .space = "pid:[1]", .pid = 7, .start = 9};

/* Shared by all rounds. */
struct bench {
    struct policy *policies[POLICIES];
    json_t *constants[POLICIES][2]; /* by policy and network: what must come out, but for what
                                       expect() fills in */
    const char *seccomp[2];
};

static struct policy *make_policy(size_t number)
{
    char text[512];
    struct error error;
    int length = snprintf(
        text, sizeof(text),
        "{\"limits\": {\"memory_bytes\": {\"default\": %zu, \"max\": 9999999999}, \"processes\": "
        "{\"default\": %zu, \"max\": 999}}, \"docker\": {%s\"require_digest\": false, \"images\": "
        "{\"python\": \"p:1\", \"sh\": \"s:1\", \"javascript\": \"j:1\", \"ruby\": \"r:1\"}, "
        "\"offered\": [\"" OFFERED_IMAGE "\"]}}",
        (size_t)(64 + number) << 20, 16 + number, number % 2 ? "\"runtime\": \"crun\", " : "");
    struct policy *policy = policy_load_text("test", text, (size_t)length, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    return policy;
}

/* The constant of the policy, made from a request-less description. */
static json_t *make_constant(const struct bench *bench, const struct policy *policy, bool network)
{
    const struct policy_limits *limits = &policy->limits;
    CLEANUP(docker_options_clear) struct docker_options options = {.host = NULL};
    HOLDS(docker_options_read(&policy->options[SANDBOX_MODE_DOCKER], &options), "no options");
    const struct run_description description = {
        .limits = {.memory_bytes = limits->memory_bytes.default_value,
                   .processes = limits->processes.default_value,
                   .open_files = limits->open_files.default_value,
                   .file_bytes = limits->file_bytes.default_value,
                   .scratch_bytes = limits->scratch_bytes.default_value,
                   .scratch_inodes = limits->scratch_inodes.default_value},
        .network = network,
    };
    return container_config_for_run(&description, options.runtime, "", &owner, bench->seccomp, NOW);
}

/* Removes the members that the policies of this test may set; the rest must be the same for all. */
static json_t *without_settled(const json_t *constant)
{
    static const char *const settled[] = {"Memory",  "MemorySwap",  "PidsLimit",
                                          "Runtime", "NetworkMode", "SecurityOpt"};
    json_t *rest = json_deep_copy(constant);
    for (size_t i = 0; i < COUNT_OF(settled); i++)
        (void)json_object_del(json_object_get(rest, "HostConfig"), settled[i]);
    (void)json_object_del(rest, "NetworkDisabled");
    (void)json_object_del(rest, "Entrypoint");
    return rest;
}

static void make_bench(bool real_profiles, struct bench *ret)
{
    ret->seccomp[0] = real_profiles ? seccomp_profile_text : "{0}";
    ret->seccomp[1] = real_profiles ? seccomp_profile_with_network_text : "{1}";
    for (size_t i = 0; i < POLICIES; i++) {
        ret->policies[i] = make_policy(i);
        for (size_t network = 0; network < 2; network++) {
            ret->constants[i][network] = make_constant(ret, ret->policies[i], network != 0);
            json_auto_t *first = without_settled(ret->constants[0][0]);
            json_auto_t *rest = without_settled(ret->constants[i][network]);
            ck_assert(json_equal(first, rest));
        }
    }
}

static void clear_bench(struct bench *bench)
{
    for (size_t i = 0; i < POLICIES; i++) {
        policy_unref(bench->policies[i]);
        json_decref(bench->constants[i][0]);
        json_decref(bench->constants[i][1]);
    }
}

static json_t *expected_labels(const char *run_id, uint64_t wall_ms)
{
    char latest[32];
    (void)snprintf(latest, sizeof(latest), "%" PRId64,
                   NOW + 600 + (int64_t)(wall_ms == 0 ? 300000 : (wall_ms + 999) / 1000));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "code-execute.boot", "b",
                     "code-execute.space", "pid:[1]", "code-execute.pid", "7", "code-execute.start",
                     "9", "code-execute.run", run_id, "code-execute.latest", latest);
}

static json_t *expected_ulimits(const struct policy_limits *limits, uint64_t cpu_ms)
{
    json_int_t seconds = (json_int_t)((cpu_ms + 999) / 1000);
    json_int_t file = (json_int_t)limits->file_bytes.default_value;
    json_int_t open = (json_int_t)limits->open_files.default_value;
    return json_pack("[{s:s, s:i, s:i}, {s:s, s:I, s:I}, {s:s, s:I, s:I}, {s:s, s:I, s:I}]", "Name",
                     "core", "Soft", 1, "Hard", 1, "Name", "cpu", "Soft", seconds, "Hard",
                     seconds + 1, "Name", "fsize", "Soft", file, "Hard", file, "Name", "nofile",
                     "Soft", open, "Hard", open);
}

static void put(json_t *object, const char *name, json_t *value)
{
    HOLDS(json_object_set_new(object, name, value) == 0, "%s", name);
}

/* The members that request and gateway may set, derived from the request itself. */
static const json_t *expect(const struct bench *bench, size_t number,
                            const struct random_request *request, const char *run_id,
                            const char *image_id)
{
    const struct policy_limits *limits = &bench->policies[number]->limits;
    uint64_t cpu_ms = limits->cpu_ms.default_value;
    uint64_t wall_ms = request->timeout_ms ? request->timeout_ms : limits->wall_ms.default_value;
    if (request->timeout_ms > cpu_ms)
        cpu_ms = request->timeout_ms;
    json_t *expected = bench->constants[number][request->network];
    json_t *host = json_object_get(expected, "HostConfig");
    put(expected, "Image", json_string(image_id));
    put(expected, "Labels", expected_labels(run_id, wall_ms));
    put(host, "Ulimits", expected_ulimits(limits, cpu_ms));
    return expected;
}

static void random_digits(uint64_t *state, char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        text[i] = "0123456789abcdef"[random_next(state) & 15];
    text[length] = '\0';
}

static size_t count_canaries(const void *bytes, size_t length)
{
    size_t count = 0;
    const char *end = (const char *)bytes + length;
    for (const char *found = bytes;
         (found = memmem(found, (size_t)(end - found), CANARY, sizeof(CANARY) - 1));
         found += sizeof(CANARY) - 1)
        count++;
    return count;
}

/* As gate.c does it between a request and its run: parsed, planned, a secret put in. */
static bool plan(struct call *call, const struct bench *bench, size_t number,
                 const struct random_request *request)
{
    static const char secret[] = CANARY "secret";
    struct error error = {.message = ""};
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, request->text, request->length, &call->request, &error);
    HOLDS(call->parsed, "%s: %s", error.message, request->text);
    call->configuration =
        (struct configuration){policy_ref(bench->policies[number]), SANDBOX_MODE_DOCKER};
    if (!plan_run(call, &error)) {
        HOLDS(request->foreign_image, "%s: %s", error.message, request->text);
        HOLDS(error.code == ERROR_POLICY_DENIED, "%s", error.message);
        return false;
    }
    HOLDS(!request->foreign_image, "%s", request->text);
    return environment_set(&call->description.environment, "SECRET", secret, sizeof(secret) - 1);
}

/* Over the wire, as to the backend. All canaries are there: it is worth looking for them. */
static void hand_over(const struct call *call, const struct random_request *request,
                      struct run_description *ret, struct docker_options *ret_options)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = run_description_encode(&call->description, &length);
    HOLDS(message != NULL, "no message");
    HOLDS(count_canaries(message, length) == request->canaries + 1, "canaries of %s",
          request->text);
    HOLDS(!request->stdin_canary || strstr(call->request.stdin_text, CANARY), "canary of stdin");
    HOLDS(run_description_decode(message, length, ret), "the message is not read back");
    HOLDS(docker_options_read(&ret->options, ret_options), "the options are not read back");
}

static void check_body(const json_t *config, const struct random_request *request)
{
    static char body[BODY_SIZE];
    size_t length = json_dumpb(config, body, sizeof(body), JSON_COMPACT);
    HOLDS(length > 0 && length <= sizeof(body), "%zu bytes", length);
    if (count_canaries(body, length) > 0) {
        (void)fprintf(stderr, "%.*s\nis made of %s\n", (int)length, body, request->text);
        ck_abort_msg("a canary is in it: see above");
    }
}

/* true: the request was one to be run. emit: look at the text that is sent as well; what is equal
 * to the expected has no other text, so not every time. */
static bool try_one(const struct bench *bench, uint64_t *state, bool emit)
{
    static const struct tool_host no_host;
    static struct random_request request;
    char image_id[72] = "sha256:";
    random_request_make(state, &request);
    random_digits(state, image_id + strlen(image_id), 64);
    size_t number = random_below(state, POLICIES);
    CLEANUP(call_clear) struct call call;
    call_init(&call, &no_host);
    random_digits(state, call.run_id, RUN_ID_LENGTH);
    if (!plan(&call, bench, number, &request))
        return false;
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    CLEANUP(docker_options_clear) struct docker_options options = {.host = NULL};
    hand_over(&call, &request, &description, &options);
    json_auto_t *config = container_config_for_run(&description, options.runtime, image_id, &owner,
                                                   bench->seccomp, NOW);
    HOLDS(config != NULL, "no configuration of %s", request.text);
    const json_t *expected = expect(bench, number, &request, call.run_id, image_id);
    if (!json_equal(expected, config)) {
        CLEANUP_FREE char *made = json_dumps(config, JSON_INDENT(1));
        (void)fprintf(stderr, "%s\nis made of %s\n", made, request.text);
        ck_abort_msg("not what is expected: see above");
    }
    if (emit)
        check_body(config, &request);
    return true;
}

START_TEST(no_request_changes_the_constant_of_a_container)
{
    uint64_t state = 11;
    size_t rounds = (getenv("CODE_EXECUTE_TEST_LONG") ? ROUNDS_LONG : ROUNDS) / ROUNDS_DIVISOR;
    struct bench real;
    struct bench quick; /* the profile is 20 KB, which no request chooses */
    size_t refused = 0;
    make_bench(true, &real);
    make_bench(false, &quick);
    for (size_t made = 0; made < rounds;) {
        bool whole = made % WHOLE_EVERY == 0;
        if (try_one(whole ? &real : &quick, &state, whole))
            made++;
        else
            refused++;
    }
    clear_bench(&real);
    clear_bench(&quick);
    ck_assert_uint_gt(refused, 0);
    printf("# %zu requests made a configuration, %zu more named an image that no policy offers\n",
           rounds, refused);
    (void)fflush(stdout);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker request");
    tcase_set_timeout(cases, 900);
    tcase_add_test(cases, no_request_changes_the_constant_of_a_container);
    return run_suite("docker request", &cases, 1);
}
