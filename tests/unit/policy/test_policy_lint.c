/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_lint and policy_cover: what is found and what is not, and that no rule is said to be
 * covered which is not, over rules and requests made at random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "base/cleanup.h"
#include "policy/lint/policy_lint.h"
#include "tap_suite.h"

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

static struct policy *load(const char *patch)
{
    struct error error;
    struct policy *policy = policy_load_text("test", patch, strlen(patch), &error);
    ck_assert_msg(policy != NULL, "%s: %s", patch, error.message);
    return policy;
}

#define QUIET "\"require\":[\"cgroup\"]"
#define WORKERS(mode)                                                                              \
    "\"modes\":{\"default\":\"remote\",\"allowed\":[\"remote\"]},\"remote\":{\"mode\":\"" mode     \
    "\",\"workers\":[{\"name\":\"w.example\",\"address\":\"w:1\"}],\"tls\":{\"authority\":\"/a\"," \
    "\"certificate\":\"/c\",\"key\":\"/k\"}}"
#define UNPRIVILEGED     "\"process\":{\"isolation\":\"unprivileged\"}"
#define DOCKER_ALONE     "\"modes\":{\"default\":\"docker\",\"allowed\":[\"docker\"]}"
#define HASH_1           "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" /* 1 */
#define HASH_2           "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35" /* 2 */
#define ZEROS            "0000000000000000000000000000000000000000000000000000000000000000"
#define RULES(list)      "{" QUIET ",\"approval\":{\"rules\":[" list "]}}"
#define TWO(first, then) RULES("{\"decision\":" first "},{\"decision\":" then "}")

/* One endpoint of that name and members, and what is beside it. */
#define ENDPOINT(more, name, members) "{" QUIET more ",\"endpoints\":{\"" name "\":{" members "}}}"
#define URL(url)                      "\"base_url\":\"https://" url "\""
#define ALLOW(rules)                  "\"allow\":[" rules "]"
#define OPEN_ENDPOINT(rules)                               \
    ENDPOINT(",\"approval\":{\"rules\":[" rules "]}", "e", \
             URL("a.b") ",\"approval\":\"never\"," ALLOW(READS("/a")))
#define READS(path) "{\"methods\":[\"GET\"],\"paths\":[\"" path "\"]}"
#define AUTH        ",\"auth\":{\"type\":\"bearer\",\"secret\":\"a\"}"
#define PROVIDER    "\"providers\":[{\"type\":\"systemd\"}]"

#define BY_CODE(more) \
    "{\"decision\":\"allow\",\"languages\":[\"sh\"],\"code_sha256\":[\"" HASH_1 "\"]" more "}"
#define SECRET_RULES(list) \
    "{" QUIET ",\"secrets\":{\"allowed\":[\"a\"]},\"approval\":{\"rules\":[" list "]}}"

/* What is found, "level place" each, in order. */
static const struct {
    const char *policy, *found;
} cases[] = {
    {"{" QUIET "}", ""},
    {"{}", "notice /require;"},
    {"{\"modes\":{\"allowed\":[\"docker\"],\"default\":\"docker\"}}", ""},
    {"{" QUIET ",\"capabilities\":[]}", "warning /capabilities;"},
    {"{" QUIET ",\"capabilities\":[\"sandbox.exec\",\"!sandbox.exec\"]}", "warning /capabilities;"},
    {"{" QUIET ",\"network\":{\"allowed\":true}}", ""},
    {"{" QUIET ",\"network\":{\"allowed\":true},\"capabilities\":[\"sandbox.exec\"]}",
     "warning /network/allowed;"},
    {"{" QUIET ",\"approval\":{\"default\":\"allow\"}}", "warning /approval/default;"},
    {"{" QUIET ",\"modes\":{\"allowed\":[\"none\",\"process\"]}}",
     "warning /capabilities;notice /modes/allowed;"},
    {"{" QUIET ",\"modes\":{\"allowed\":[\"none\",\"process\"]},\"capabilities\":[\"sandbox.exec\","
     "\"sandbox.exec.mode.none\"]}",
     "notice /modes/allowed;"},
    {"{" QUIET "," UNPRIVILEGED ",\"capabilities\":[\"sandbox.exec\","
     "\"sandbox.exec.mode.unprivileged\"]}",
     "notice /process/isolation;"},
    {"{" QUIET "," UNPRIVILEGED "}", "warning /capabilities;notice /process/isolation;"},
    {"{" DOCKER_ALONE "," UNPRIVILEGED "}", "warning /process/isolation;"},
    {"{" QUIET "," WORKERS("process") "}", ""},
    {"{" QUIET "," WORKERS("unprivileged") ",\"capabilities\":[\"sandbox.exec\","
                                           "\"sandbox.exec.mode.unprivileged\"]}",
     "notice /remote/mode;"},
    {"{" QUIET "," WORKERS("unprivileged") "}", "warning /capabilities;notice /remote/mode;"},
    {"{" QUIET ",\"process\":{\"scratch_directory\":\"/srv\"}}",
     "warning /process/scratch_directory;"},
    {"{" QUIET ",\"process\":{\"isolation\":\"unprivileged\",\"scratch_directory\":\"/srv\"},"
     "\"capabilities\":[\"sandbox.exec\",\"sandbox.exec.mode.unprivileged\"]}",
     "notice /process/isolation;"},
    /* A rule for the one blueprint is none for the other. */
    {"{" QUIET "," UNPRIVILEGED ",\"capabilities\":[\"sandbox.exec\","
     "\"sandbox.exec.mode.unprivileged\"],\"approval\":{\"rules\":[{\"decision\":\"allow\","
     "\"modes\":["
     "\"process\"]},{\"decision\":\"allow\",\"modes\":[\"unprivileged\"]}]}}",
     "notice /process/isolation;warning /approval/rules/0;"},
    {"{" QUIET ",\"approval\":{\"rules\":[{\"decision\":\"allow\",\"modes\":[\"unprivileged\"]}]}}",
     "warning /approval/rules/0;"},
    {"{" QUIET ",\"modes\":{\"allowed\":[\"none\"],\"default\":\"none\"}}",
     "warning /capabilities;warning /modes/default;notice /modes/allowed;"},
    {"{" QUIET
     ",\"modes\":{\"allowed\":[\"none\",\"process\"]},\"approval\":{\"rules\":[{\"decision\":"
     "\"allow\",\"languages\":[\"sh\"]}]}}",
     "warning /capabilities;warning /modes/allowed;"},
    {"{" QUIET
     ",\"modes\":{\"allowed\":[\"none\",\"process\"]},\"approval\":{\"rules\":[{\"decision\":"
     "\"allow\",\"modes\":[\"process\"]},{\"decision\":\"ask\"}]}}",
     "warning /capabilities;notice /modes/allowed;warning /approval/rules/0;"},
    {"{" QUIET
     ",\"modes\":{\"allowed\":[\"none\",\"process\"]},\"approval\":{\"rules\":[{\"decision\":"
     "\"allow\",\"modes\":[\"none\"]}]}}",
     "warning /capabilities;warning /modes/allowed;"},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"a\"]}}", ""},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"b\",\"a\"]},\"capabilities\":[\"sandbox.exec\","
     "\"sandbox.exec.secrets=b\"]}",
     "warning /secrets/allowed/1;"},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"*\"]},\"capabilities\":[\"sandbox.exec\"]}",
     "warning /secrets/allowed/0;"},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"a\"],\"rules\":{\"b\":{},\"*\":{},\"a\":{}}}}",
     "warning /secrets/rules/b;"},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"a\"],\"rules\":{\"a\":{\"modes\":[\"none\"]}}}}",
     "warning /secrets/rules/a;"},
    {"{" QUIET ",\"languages\":{\"lua\":null},\"secrets\":{\"allowed\":[\"a\"],\"rules\":{\"a\":{"
     "\"languages\":[\"lua\"],\"modes\":[\"none\",\"process\"]}}}}",
     "warning /secrets/rules/a;"},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"a\"],\"rules\":{\"a\":{\"languages\":[\"lua\"]}}}}",
     ""},
    {"{" QUIET ",\"docker\":{\"require_digest\":true,\"images\":\"a@sha256:" HASH_1 "\"}}", ""},
    {"{" QUIET ",\"docker\":{\"require_digest\":true,\"images\":\"sha256:" HASH_1 "\"}}", ""},
    {"{" QUIET ",\"docker\":{\"require_digest\":true,\"images\":\"a@sha256:1\"}}",
     "notice /docker/images;"},
    {"{" QUIET ",\"docker\":{\"images\":\"a@sha256:" ZEROS "\"}}", "notice /docker/images;"},
    {"{" QUIET ",\"docker\":{\"images\":\"a@sha256:DIGEST\"}}", "notice /docker/images;"},
    {"{" QUIET ",\"modes\":{\"default\":\"docker\",\"allowed\":[\"docker\",\"kubernetes\"]},"
     "\"only_languages\":[\"sh\"],\"docker\":{\"images\":{\"sh\":\"a:1\"}},"
     "\"kubernetes\":{\"images\":{\"sh\":\"a@sha256:" HASH_1 "\"}}}",
     ""},
    {"{" QUIET ",\"modes\":{\"default\":\"docker\",\"allowed\":[\"docker\",\"kubernetes\"]},"
     "\"only_languages\":[\"sh\"],\"docker\":{\"images\":{\"sh\":\"a:1\"}},"
     "\"kubernetes\":{\"images\":{\"sh\":\"a:1\"},\"offered\":[\"a:2\"]}}",
     "notice /kubernetes/images;warning /kubernetes/offered;"},
    {"{" DOCKER_ALONE ",\"docker\":{\"require_digest\":true}}",
     "warning /docker/images;warning /docker/images;"},
    {"{" DOCKER_ALONE ",\"docker\":{\"require_digest\":true,\"images\":{\"sh\":\"a@sha256:" HASH_1
     "\"}}}",
     "warning /docker/images;"},
    {"{" DOCKER_ALONE
     ",\"only_languages\":[\"sh\"],\"docker\":{\"require_digest\":true,\"images\":{"
     "\"sh\":\"a@sha256:" HASH_1 "\"}}}",
     ""},
    {"{" DOCKER_ALONE ",\"docker\":{\"images\":{\"sh\":null}}}", "warning /docker/images;"},
    {"{" QUIET ",\"docker\":{\"offered\":[\"a:1\"]}}", ""},
    {"{" QUIET ",\"docker\":{\"require_digest\":true,\"offered\":[\"a:1\",\"sha256:" HASH_1
     "\"],\"images\":\"sha256:" HASH_1 "\"}}",
     "warning /docker/offered;"},
    /* Members of the file that do nothing. */
    {"{" QUIET ",\"languages\":{\"cobol\":null}}", "warning /languages/cobol;"},
    {"{" QUIET ",\"languages\":{\"zsh\":null}}", ""},
    {"{" QUIET ",\"limits\":{\"wall\":null}}", "warning /limits/wall;"},
    {"{" QUIET ",\"surplus\":null,\"description\":null}", "warning /surplus;"},
    {"{" QUIET ",\"limits\":{}}", "warning /limits;"},
    {"{" QUIET ",\"content_checks\":{\"languages\":{}}}", ""},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"a\"],\"rules\":{}}}", ""},
    {"{" QUIET ",\"languages\":{\"python\":{}}}", "warning /languages/python;warning /languages;"},
    {"{" QUIET ",\"languages\":{\"python\":{\"file\":\"main.py\"}}}", "warning /languages;"},
    {"{" QUIET ",\"languages\":{\"python\":{\"file\":\"run.py\"}}}", "notice /languages;"},
    {"{" QUIET ",\"languages\":{\"python\":{\"file\":\"run.py\"},\"lua\":null}}", ""},
    {"{" QUIET ",\"languages\":{\"python\":{\"file\":\"run.py\"}},\"only_languages\":[\"python\"]}",
     ""},
    {"{" QUIET ",\"languages\":{\"python\":{\"file\":\"run.py\"}},\"only_languages\":[\"sh\"]}",
     "warning /languages/python;"},
    {"{" QUIET ",\"only_languages\":[\"sh\"],\"docker\":{\"images\":{\"lua\":\"a\",\"sh\":\"b\"}}}",
     "warning /docker/images/lua;"},
    {"{" QUIET
     ",\"only_languages\":[\"sh\"],\"content_checks\":{\"languages\":{\"python\":{\"action\":"
     "\"warn\"}}}}",
     "warning /content_checks/languages/python;"},
    /* Times in seconds. */
    {"{" QUIET ",\"limits\":{\"wall_ms\":{\"default\":10,\"max\":30}}}",
     "warning /limits/wall_ms/default;warning /limits/wall_ms/max;"},
    {"{" QUIET ",\"limits\":{\"wall_ms\":{\"default\":99}}}", "warning /limits/wall_ms/default;"},
    {"{" QUIET ",\"limits\":{\"wall_ms\":{\"default\":100}}}", "notice /limits/wall_ms/default;"},
    {"{" QUIET ",\"limits\":{\"wall_ms\":{\"default\":999}}}", "notice /limits/wall_ms/default;"},
    {"{" QUIET ",\"limits\":{\"wall_ms\":{\"default\":1000}}}", ""},
    {"{" QUIET ",\"approval\":{\"timeout_ms\":120}}", "warning /approval/timeout_ms;"},
    {"{" QUIET ",\"approval\":{\"timeout_ms\":1000}}", ""},
    {"{" QUIET ",\"pools\":{\"process\":{\"idle_ms\":60}}}", "warning /pools/process/idle_ms;"},
    {"{" QUIET
     ",\"only_languages\":[\"lua\"],\"languages\":{\"lua\":{\"limits\":{\"cpu_ms\":{\"default\":"
     "60,\"max\":60}}}}}",
     "warning /languages/lua/limits/cpu_ms/default;warning /languages/lua/limits/cpu_ms/max;"},
    {"{" QUIET ",\"docker\":{\"require_digest\":true}}", "notice /docker/images;"},
    {"{" QUIET ",\"docker\":{\"require_digest\":true,\"images\":\"a@sha256:" HASH_1
     "\"},\"secrets\":{"
     "\"allowed\":[\"a\",\"b\"]},\"approval\":{\"rules\":[{\"decision\":\"allow\",\"secrets\":["
     "\"a\",\"b\"]},{\"decision\":\"allow\",\"secrets\":[\"a\"]}]}}",
     "warning /approval/rules/1;"},
    {"{" QUIET
     ",\"modes\":{\"allowed\":[\"none\",\"process\"]},\"approval\":{\"rules\":[{\"decision\":"
     "\"allow\"},{\"decision\":\"ask\",\"languages\":[\"sh\"]}]}}",
     "warning /capabilities;warning /modes/allowed;"},
    {"{" QUIET ",\"docker\":{\"images\":{\"lua\":null}}}", "notice /docker/images;"},
    {"{" QUIET ",\"docker\":{\"require_digest\":true,\"images\":{\"lua\":null,\"sh\":null}}}",
     "notice /docker/images;notice /docker/images;"},
    {"{" QUIET ",\"docker\":{\"require_digest\":true},\"modes\":{\"allowed\":[\"process\"]}}", ""},
    /* Rules that no request can meet. */
    {"{" QUIET ",\"languages\":{\"lua\":null},\"approval\":{\"rules\":[{\"decision\":\"deny\","
     "\"languages\":[\"lua\"]}]}}",
     "warning /approval/rules/0;"},
    {RULES("{\"decision\":\"deny\",\"modes\":[\"none\"]}"), "warning /approval/rules/0;"},
    {RULES("{\"decision\":\"deny\",\"network\":true}"), "warning /approval/rules/0;"},
    {RULES("{\"decision\":\"deny\",\"secrets\":true}"), "warning /approval/rules/0;"},
    {RULES("{\"decision\":\"deny\",\"secrets\":[\"a\"]}"), "warning /approval/rules/0;"},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"b\"]},\"approval\":{\"rules\":[{\"decision\":\"deny\","
     "\"secrets\":[\"a\",\"b\"]},{\"decision\":\"deny\",\"secrets\":true,\"network\":false}]}}",
     ""},
    /* Endpoints. */
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a"))), ""},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW("")), "warning /endpoints/e/allow;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW("{\"methods\":[],\"paths\":[\"/\"]}")),
     "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW("{\"methods\":[\"GET\"],\"paths\":[]}")),
     "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a%20b") "," READS("/a%C3%A4"))), ""},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a%41"))), "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a%20%7E"))), "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a%2Fb"))), "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a%00"))), "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a") "," READS("/a"))),
     "warning /endpoints/e/allow/1;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a") "," READS("/**"))),
     "warning /endpoints/e/allow/0;"},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a") "," READS("/b"))), ""},
    {ENDPOINT("", "e",
              URL("a.b") "," ALLOW(READS("/**") ",{\"methods\":[\"GET\",\"PUT\"],"
                                                "\"paths\":[\"/a\"]}")),
     ""},
    {ENDPOINT("", "e", URL("a.b") "," ALLOW(READS("/a")) AUTH), "notice /endpoints/e/auth/secret;"},
    {ENDPOINT(",\"secrets\":{" PROVIDER "}", "e", URL("a.b") "," ALLOW(READS("/a")) AUTH), ""},
    {ENDPOINT(",\"secrets\":{\"allowed\":[\"a\"]," PROVIDER "}", "e",
              URL("a.b") "," ALLOW(READS("/a")) AUTH),
     "warning /endpoints/e/auth/secret;"},
    {ENDPOINT(",\"secrets\":{\"allowed\":[\"b\"]," PROVIDER "}", "e",
              URL("a.b") "," ALLOW(READS("/a")) AUTH),
     ""},
    {ENDPOINT(",\"capabilities\":[\"sandbox.exec\",\"sandbox.exec.endpoints=f\"]", "e",
              URL("a.b") "," ALLOW(READS("/a"))),
     "warning /endpoints/e;"},
    {ENDPOINT(",\"capabilities\":[\"sandbox.exec\",\"sandbox.exec.endpoints=e\"]", "e",
              URL("a.b") "," ALLOW(READS("/a"))),
     ""},
    {ENDPOINT("," DOCKER_ALONE, "e", URL("a.b") "," ALLOW(READS("/a"))), ""},
    {ENDPOINT("," UNPRIVILEGED ",\"modes\":{\"default\":\"process\",\"allowed\":[\"process\"]}",
              "e", URL("a.b") "," ALLOW(READS("/a"))),
     "warning /capabilities;notice /process/isolation;warning /endpoints/e;"},
    {ENDPOINT(",\"approval\":{\"default\":\"allow\"}", "e", URL("a.b") "," ALLOW(READS("/a"))),
     "warning /approval/default;"},
    {ENDPOINT(",\"approval\":{\"default\":\"allow\"}", "e",
              URL("a.b") ",\"approval\":\"never\"," ALLOW(READS("/a"))),
     "warning /approval/default;warning /endpoints/e;"},
    {ENDPOINT("", "e", "\"tunnel\":\"a.b:443\""), "notice /endpoints/e;"},
    {ENDPOINT("", "e",
              URL("a.b") "," ALLOW(READS("/a")) "},\"f\":{" URL("a.bc") "," ALLOW(READS("/a"))),
     ""},
    {ENDPOINT("", "e",
              URL("a.b") "," ALLOW(READS("/a")) "},\"f\":{" URL("a.b/c") "," ALLOW(READS("/a"))),
     "notice /endpoints/f/base_url;"},
    {ENDPOINT("", "e",
              URL("a.b") "," ALLOW(READS("/a")) "},\"f\":{" URL("a.b:443/") "," ALLOW(READS("/a"))),
     "notice /endpoints/f/base_url;"},
    /* Rules that allow code by its hash. */
    {RULES("{\"decision\":\"allow\",\"code_sha256\":[\"" HASH_1 "\"]}"),
     "warning /approval/rules/0;"},
    {RULES(BY_CODE("")), ""},
    {RULES(BY_CODE(",\"with\":{\"image\":\"a\"}")), "warning /approval/rules/0;"},
    {RULES(BY_CODE(",\"with\":{\"secrets\":{\"A\":\"a\"}}")), "warning /approval/rules/0;"},
    {SECRET_RULES(BY_CODE(",\"with\":{\"secrets\":{\"A\":\"a\"}}")), ""},
    {SECRET_RULES(BY_CODE(",\"secrets\":[\"a\"],\"with\":{\"secrets\":{\"A\":\"a\"}}")), ""},
    {SECRET_RULES(BY_CODE(",\"secrets\":[\"a\"]")), "warning /approval/rules/0;"},
    {SECRET_RULES(BY_CODE(",\"secrets\":true")), "warning /approval/rules/0;"},
    {SECRET_RULES(BY_CODE(",\"secrets\":false,\"with\":{\"secrets\":{\"A\":\"a\"}}")),
     "warning /approval/rules/0;"},
    {RULES(BY_CODE("") "," BY_CODE("")), "warning /approval/rules/1;"},
    {RULES(BY_CODE("") "," BY_CODE(",\"with\":{\"args\":[\"a\"]}")), ""},
    {RULES("{\"decision\":\"allow\",\"languages\":[\"sh\"]}," BY_CODE("")),
     "warning /approval/rules/1;"},
    {RULES("{\"decision\":\"deny\",\"code_sha256\":[\"" HASH_1 "\"]}"),
     "notice /approval/rules/0;"},
    {RULES("{\"decision\":\"allow\",\"request_sha256\":[\"" HASH_1 "\"]}"), ""},
    {TWO("\"ask\",\"request_sha256\":[\"" HASH_1 "\"]",
         "\"allow\",\"request_sha256\":[\"" HASH_1 "\"]"),
     "warning /approval/rules/1;"},
    /* Rules that allow more than they seem to. */
    {SECRET_RULES("{\"decision\":\"allow\",\"languages\":[\"sh\"]}"), "warning /approval/rules/0;"},
    {SECRET_RULES("{\"decision\":\"allow\",\"secrets\":false}"), ""},
    {SECRET_RULES("{\"decision\":\"ask\"}"), ""},
    {"{" QUIET ",\"secrets\":{\"allowed\":[\"a\"],\"rules\":{\"a\":{\"approval\":\"ask\"}}},"
     "\"approval\":{\"rules\":[{\"decision\":\"allow\"}]}}",
     ""},
    {"{" QUIET ",\"network\":{\"allowed\":true},\"approval\":{\"rules\":[{\"decision\":"
     "\"allow\",\"principals\":[\"a\"]}]}}",
     "warning /approval/rules/0;"},
    {OPEN_ENDPOINT("{\"decision\":\"allow\"}"), "warning /approval/rules/0;"},
    {OPEN_ENDPOINT("{\"decision\":\"allow\",\"endpoints\":false}"), ""},
    {OPEN_ENDPOINT("{\"decision\":\"allow\",\"endpoints\":[\"e\"]}"), ""},
    {OPEN_ENDPOINT("{\"decision\":\"deny\"}"), ""},
    {ENDPOINT(",\"approval\":{\"rules\":[{\"decision\":\"allow\"}]}", "e",
              URL("a.b") "," ALLOW(READS("/a"))),
     ""},
    /* Rules of endpoints. */
    {RULES("{\"decision\":\"deny\",\"endpoints\":true}"), "warning /approval/rules/0;"},
    {RULES("{\"decision\":\"deny\",\"endpoints\":[\"e\"]}"), "warning /approval/rules/0;"},
    {RULES("{\"decision\":\"deny\",\"endpoints\":false}"), ""},
    {OPEN_ENDPOINT("{\"decision\":\"deny\",\"endpoints\":[\"f\"]}"), "warning /approval/rules/0;"},
    {OPEN_ENDPOINT("{\"decision\":\"deny\",\"endpoints\":[\"e\",\"f\"]}"), ""},
    {OPEN_ENDPOINT(BY_CODE(",\"endpoints\":true")), "warning /approval/rules/0;"},
    {OPEN_ENDPOINT(BY_CODE(",\"endpoints\":[\"e\"]")), ""},
    {OPEN_ENDPOINT(
         "{\"decision\":\"deny\",\"endpoints\":true},{\"decision\":\"ask\",\"endpoints\":["
         "\"e\"]}"),
     "warning /approval/rules/1;"},
    {OPEN_ENDPOINT("{\"decision\":\"deny\",\"endpoints\":[\"e\"]},{\"decision\":\"ask\","
                   "\"endpoints\":true}"),
     ""},
    {OPEN_ENDPOINT("{\"decision\":\"deny\",\"endpoints\":false},{\"decision\":\"ask\"}"), ""},
    /* One rule in front of another. */
    {TWO("\"deny\"", "\"allow\""), "warning /approval/rules/1;"},
    {TWO("\"allow\"", "\"deny\",\"languages\":[\"sh\"]"), ""},
    {TWO("\"allow\",\"languages\":[\"sh\"]", "\"deny\",\"languages\":[\"sh\",\"lua\"]"),
     "warning /approval/rules/0;"},
    {TWO("\"allow\",\"languages\":[\"sh\",\"lua\"]", "\"deny\",\"languages\":[\"sh\"]"), ""},
    {TWO("\"ask\"", "\"ask\",\"languages\":[\"sh\"]"), "warning /approval/rules/1;"},
    {TWO("\"ask\",\"languages\":[\"sh\"]", "\"ask\""), ""},
    {TWO("\"deny\",\"modes\":[\"docker\",\"process\"]", "\"ask\",\"languages\":[\"sh\"]"),
     "warning /approval/rules/1;"},
    {TWO("\"deny\",\"modes\":[\"docker\"]", "\"ask\""), ""},
    {TWO("\"deny\",\"network\":false", "\"ask\""), "warning /approval/rules/1;"},
    {TWO("\"deny\",\"secrets\":false", "\"ask\""), "warning /approval/rules/1;"},
    {TWO("\"deny\",\"code_bytes\":{\"max\":9}", "\"ask\",\"code_bytes\":{\"min\":1,\"max\":9}"),
     "warning /approval/rules/1;"},
    {TWO("\"deny\",\"code_bytes\":{\"max\":8}", "\"ask\",\"code_bytes\":{\"min\":1,\"max\":9}"),
     ""},
    {TWO("\"deny\",\"code_bytes\":{\"min\":2}", "\"ask\",\"code_bytes\":{\"min\":1}"), ""},
    {TWO("\"deny\",\"principals\":[\"a\",\"b\"]", "\"ask\",\"principals\":[\"b\"]"),
     "warning /approval/rules/1;"},
    {TWO("\"deny\",\"principals\":[\"a\"]", "\"ask\",\"principals\":[\"a\",\"b\"]"), ""},
    {TWO("\"deny\",\"principals\":[\"a\"]", "\"ask\""), ""},
};

START_TEST(finds_what_is_odd_and_nothing_else)
{
    char found[512] = "";
    CLEANUP(cleanup_policy) struct policy *policy = load(cases[_i].policy);
    json_auto_t *findings = policy_lint(policy);
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s %s;",
                       json_string_value(json_object_get(finding, "level")),
                       json_string_value(json_object_get(finding, "place")));
        ck_assert_uint_gt(strlen(json_string_value(json_object_get(finding, "message"))), 10);
    }
    ck_assert_msg(strcmp(found, cases[_i].found) == 0, "%s: \"%s\" instead of \"%s\"",
                  cases[_i].policy, found, cases[_i].found);
}
END_TEST

static uint64_t seed = UINT64_C(0x2545F4914F6CDD1D);

static void maybe(char *rule, size_t size, const char *const *choices, size_t count)
{
    if (random_below(&seed, 2) == 0)
        return;
    size_t length = strlen(rule);
    (void)snprintf(rule + length, size - length, ",%s", choices[random_below(&seed, count)]);
}

#define MAYBE(rule, ...)                                       \
    do {                                                       \
        static const char *const choices[] = {__VA_ARGS__};    \
        maybe(rule, sizeof(rule), choices, COUNT_OF(choices)); \
    } while (0)

static struct policy *random_policy(void)
{
    static const char *const decisions[] = {"allow", "ask", "deny"};
    static const char *const secrets[] = {"[]", "[\"a\"]", "[\"*\"]"};
    static const char *const endpoints[] = {
        "{}", "{\"e\":{\"tunnel\":\"a.b:443\"}}",
        "{\"e\":{\"tunnel\":\"a.b:443\"},\"f\":{\"tunnel\":\"b.c:443\",\"approval\":\"never\"}}"};
    char rules[2][512];
    char text[1536];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(rules[i], sizeof(rules[i]), "\"decision\":\"%s\"",
                       decisions[random_below(&seed, 3)]);
        MAYBE(rules[i], "\"languages\":[\"sh\"]", "\"languages\":[\"lua\"]",
              "\"languages\":[\"sh\",\"lua\"]");
        MAYBE(rules[i], "\"modes\":[\"process\"]", "\"modes\":[\"docker\",\"process\"]",
              "\"modes\":[\"none\",\"docker\"]");
        MAYBE(rules[i], "\"network\":true", "\"network\":false");
        MAYBE(rules[i], "\"secrets\":true", "\"secrets\":false", "\"secrets\":[\"a\"]",
              "\"secrets\":[\"a\",\"b\"]");
        MAYBE(rules[i], "\"endpoints\":true", "\"endpoints\":false", "\"endpoints\":[\"e\"]",
              "\"endpoints\":[\"e\",\"f\"]");
        MAYBE(rules[i], "\"code_bytes\":{\"min\":1}", "\"code_bytes\":{\"max\":1}",
              "\"code_bytes\":{\"min\":1,\"max\":2}");
        MAYBE(rules[i], "\"code_sha256\":[\"" HASH_1 "\"]",
              "\"code_sha256\":[\"" HASH_1 "\",\"" HASH_2 "\"]");
        if (strstr(rules[i], "allow") != NULL && strstr(rules[i], "code_sha256") != NULL)
            MAYBE(rules[i], "\"with\":{\"args\":[\"-v\"]}", "\"with\":{\"secrets\":{\"K\":\"a\"}}",
                  "\"with\":{}");
        else
            MAYBE(rules[i], "\"request_sha256\":[\"" HASH_1 "\"]",
                  "\"request_sha256\":[\"" HASH_1 "\",\"" HASH_2 "\"]");
        MAYBE(rules[i], "\"principals\":[\"x\"]", "\"principals\":[\"y\",\"x\"]");
    }
    (void)snprintf(
        text, sizeof(text),
        "{\"network\":{\"allowed\":%s},\"secrets\":{\"allowed\":%s},\"endpoints\":%s,\"approval\":{"
        "\"rules\":[{%s},{%s}]}}",
        random_below(&seed, 2) ? "true" : "false", secrets[random_below(&seed, 3)],
        endpoints[random_below(&seed, 3)], rules[0], rules[1]);
    return load(text);
}

/* A request that the policy lets as far as its rules. */
static struct rule_facts random_facts(const struct policy *policy)
{
    static const char *const languages[] = {"sh", "lua", "python"};
    static const char *const principals[] = {NULL, "x", "y"};
    static const char *const codes[] = {"", "1", "2", "22"};
    static const char *const hashes[] = {NULL, HASH_1, HASH_2};
    static const char *const all_secrets[] = {"a", "b", "a"};
    struct rule_facts facts = {
        .language = languages[random_below(&seed, 3)],
        .mode = random_below(&seed, 2) ? SANDBOX_MODE_PROCESS : SANDBOX_MODE_DOCKER,
        .network = policy->network_allowed && random_below(&seed, 2) == 0,
        .code = codes[random_below(&seed, 4)],
        .principal = principals[random_below(&seed, 3)],
        .workspace = random_below(&seed, 4) == 0,
        .request_sha256 = hashes[random_below(&seed, 3)],
    };
    facts.code_bytes = strlen(facts.code);
    size_t first = random_below(&seed, 2);
    facts.secrets = all_secrets + first;
    facts.secret_count = random_below(&seed, 3);
    for (size_t i = 0; i < facts.secret_count; i++)
        if (!policy_allows_secret(policy, facts.secrets[i]))
            facts.secret_count = 0;
    static const char *const all_endpoints[] = {"e", "f"};
    size_t has = policy->endpoint_count;
    size_t from = has == 2 ? random_below(&seed, 2) : 0;
    facts.endpoints = all_endpoints + from;
    facts.endpoint_count = random_below(&seed, has - from + 1);
    /* Of one secret the variable is known. */
    static char v[] = "-v";
    static char key_a[] = "K=a";
    static char key_b[] = "K=b";
    static char *args[] = {v, NULL};
    static char *secret_a[] = {key_a, NULL};
    static char *secret_b[] = {key_b, NULL};
    static struct rule_inputs inputs;
    inputs = (struct rule_inputs){0};
    if (random_below(&seed, 3) == 0)
        inputs.args = args;
    if (facts.secret_count > 0)
        inputs.secrets = first == 0 ? secret_a : secret_b;
    facts.inputs = facts.secret_count < 2 ? &inputs : NULL;
    return facts;
}

START_TEST(a_covered_rule_applies_where_its_cover_does)
{
    size_t covered = 0;
    size_t idle = 0;
    size_t met = 0;
    for (int round = 0; round < 8000; round++) {
        CLEANUP(cleanup_policy) struct policy *policy = random_policy();
        const struct policy_rule *outer = &policy->rules[0];
        const struct policy_rule *inner = &policy->rules[1];
        /* Only what prevails is asked about. */
        bool covers =
            outer->decision >= inner->decision && policy_rule_covers(policy, outer, inner);
        bool never = policy_rule_is_idle(policy, inner) != NULL;
        covered += covers;
        idle += never;
        for (int request = 0; request < 60 && (covers || never); request++) {
            struct rule_facts facts = random_facts(policy);
            if (!rule_applies(inner, &facts))
                continue;
            met++;
            ck_assert_msg(!never, "%s", policy_rule_is_idle(policy, inner));
            ck_assert(rule_applies(outer, &facts));
        }
    }
    ck_assert_uint_gt(covered, 50);
    ck_assert_uint_gt(idle, 50);
    ck_assert_uint_gt(met, 100);
}
END_TEST

int main(void)
{
    TCase *tests[] = {tcase_create("policy_lint")};
    tcase_add_loop_test(tests[0], finds_what_is_odd_and_nothing_else, 0, COUNT_OF(cases));
    tcase_add_test(tests[0], a_covered_rule_applies_where_its_cover_does);
    return run_suite("policy_lint", tests, COUNT_OF(tests));
}
