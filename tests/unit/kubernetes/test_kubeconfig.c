/* SPDX-License-Identifier: Apache-2.0 */
/* What is understood of a kubeconfig, as kubectl and the usual clusters write them, and what is
 * refused by its name. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/kubernetes/api/api_server.h"
#include "backends/kubernetes/api/yaml_document.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static char *read_named(const char *path, size_t limit, struct api_fault *fault)
{
    char *text = NULL;
    (void)limit;
    (void)fault;
    ck_assert_int_gt(asprintf(&text, "content of %s", path), 0);
    return text;
}

static bool take(const char *text, const char *context, struct api_server *server,
                 struct api_fault *fault)
{
    char empty[] = "";
    char *name = strdup(context);
    const struct kubernetes_options options = {.kubeconfig = empty, .context = name};
    *server = (struct api_server){.tls = false};
    *fault = (struct api_fault){.problem = API_PROBLEM_NONE};
    bool is_good = kubeconfig_read(text, strlen(text), &options, "/home/u/.kube/config", read_named,
                                   server, fault);
    free(name);
    return is_good;
}

static void refuse(const char *text, enum api_problem problem, const char *words)
{
    struct api_server server;
    struct api_fault fault;
    ck_assert_msg(!take(text, "", &server, &fault), "%s", text);
    ck_assert_msg(strstr(fault.message, words), "%s lacks: %s", fault.message, words);
    ck_assert_uint_eq(fault.problem, problem);
    api_server_clear(&server);
}

#define CLUSTER                                                                   \
    "apiVersion: v1\n"                                                            \
    "clusters:\n"                                                                 \
    "- cluster:\n"                                                                \
    "    certificate-authority-data: Q0E=\n"                                      \
    "    extensions:\n"                                                           \
    "    - extension:\n"                                                          \
    "        last-update: Sat, 28 Nov 2026 17:01:05 UTC\n"                        \
    "        provider: minikube.sigs.k8s.io\n"                                    \
    "      name: cluster_info\n"                                                  \
    "    server: https://api.example:6443/k8s/clusters/c-1/ # behind a gateway\n" \
    "  name: \"one\"\n"                                                           \
    "- cluster: {}\n"                                                             \
    "  name: empty\n"                                                             \
    "contexts:\n"                                                                 \
    "- context:\n"                                                                \
    "    cluster: one\n"                                                          \
    "    namespace: runs\n"                                                       \
    "    user: gateway\n"                                                         \
    "  name: 'it''s'\n"                                                           \
    "current-context: \"it's\"\n"                                                 \
    "kind: Config\n"                                                              \
    "preferences: {}\n"                                                           \
    "users:\n"                                                                    \
    "- name: gateway\n"                                                           \
    "  user:\n"

START_TEST(kubectls_own_form_is_read)
{
    struct api_server server;
    struct api_fault fault;
    ck_assert_msg(take("---\n" CLUSTER "    token: abc.def-0\n", "", &server, &fault), "%s",
                  fault.message);
    ck_assert_str_eq(server.base, "https://api.example:6443/k8s/clusters/c-1");
    ck_assert_str_eq(server.host, "api.example:6443");
    ck_assert(server.tls);
    ck_assert_str_eq(server.name_space, "runs");
    ck_assert_str_eq(server.authority, "CA");
    ck_assert_str_eq(server.token, "abc.def-0");
    ck_assert_ptr_null(server.certificate);
    api_server_clear(&server);
}
END_TEST

START_TEST(files_are_beside_the_kubeconfig)
{
    struct api_server server;
    struct api_fault fault;
    ck_assert_msg(take(CLUSTER "    client-certificate: pki/me.crt\n    client-key: /k/me.key\n"
                               "    tokenFile: token\n    token: not-this\n",
                       "", &server, &fault),
                  "%s", fault.message);
    ck_assert_str_eq(server.certificate, "content of /home/u/.kube/pki/me.crt");
    ck_assert_str_eq(server.key, "content of /k/me.key");
    ck_assert_str_eq(server.token_path, "/home/u/.kube/token");
    ck_assert_ptr_null(server.token);
    api_server_clear(&server);
}
END_TEST

START_TEST(json_is_read_too)
{
    static const char text[] =
        "{\"current-context\": \"x\", \"contexts\": [{\"name\": \"x\", \"context\": {\"cluster\": "
        "\"c\", \"user\": \"u\"}}], \"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": "
        "\"http://127.0.0.1:8001\"}}], \"users\": [{\"name\": \"u\", \"user\": {\"token\": "
        "\"t\"}}]}";
    struct api_server server;
    struct api_fault fault;
    ck_assert_msg(take(text, "", &server, &fault), "%s", fault.message);
    ck_assert(!server.tls);
    ck_assert_str_eq(server.base, "http://127.0.0.1:8001");
    ck_assert_str_eq(server.name_space, "");
    api_server_clear(&server);
    ck_assert(take(text, "x", &server, &fault));
    api_server_clear(&server);
    ck_assert(!take(text, "y", &server, &fault));
    ck_assert_ptr_nonnull(strstr(fault.message, "has no context \"y\""));
    api_server_clear(&server);
}
END_TEST

START_TEST(programs_that_log_in_are_refused_by_name)
{
    refuse(CLUSTER
           "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
           "      args:\n      - eks\n      - get-token\n      command: aws\n      env: null\n",
           API_PROBLEM_CREDENTIALS, "exec: aws");
    refuse(CLUSTER "    auth-provider:\n      name: gcp\n", API_PROBLEM_CREDENTIALS,
           "\"auth-provider\"");
    refuse(CLUSTER "    token: t\n    as: admin\n", API_PROBLEM_CREDENTIALS, "\"as\"");
    refuse(CLUSTER "    username: u\n    password: p\n", API_PROBLEM_CREDENTIALS, "\"username\"");
}
END_TEST

static const char *with_cluster(const char *members)
{
    static char text[1000];
    (void)snprintf(text, sizeof(text),
                   "current-context: x\ncontexts:\n- name: x\n  context:\n    cluster: c\n    "
                   "user: u\nusers:\n- name: u\n  user:\n    token: t\nclusters:\n- name: c\n  "
                   "cluster:\n%s",
                   members);
    return text;
}

START_TEST(a_server_that_cannot_be_trusted_is_refused)
{
    refuse(with_cluster("    server: https://a\n    insecure-skip-tls-verify: true\n"),
           API_PROBLEM_CREDENTIALS, "\"insecure-skip-tls-verify\"");
    refuse(with_cluster("    server: https://a\n    proxy-url: http://b\n"),
           API_PROBLEM_CREDENTIALS, "\"proxy-url\"");
    refuse(with_cluster("    server: https://a\n    tls-server-name: b\n"), API_PROBLEM_CREDENTIALS,
           "\"tls-server-name\"");
    refuse(with_cluster("    server: https://a\n    insecure-skip-tls-verify: false\n"),
           API_PROBLEM_CONFIGURATION, "no certificate-authority");
    refuse(with_cluster("    server: http://10.0.0.1:8080\n"), API_PROBLEM_CONFIGURATION,
           "without TLS");
    refuse(with_cluster("    server: http://127.example:8080\n"), API_PROBLEM_CONFIGURATION,
           "without TLS");
    refuse(with_cluster("    server: api:6443\n"), API_PROBLEM_CONFIGURATION, "no https://");
    refuse(with_cluster("    server: https://u@a\n"), API_PROBLEM_CONFIGURATION, "no URL");
    refuse(with_cluster("    server: https://\n"), API_PROBLEM_CONFIGURATION, "no host");
    refuse(with_cluster("    server: https://a\n    certificate-authority-data: '*'\n"),
           API_PROBLEM_CONFIGURATION, "not a text in Base64");
    refuse(with_cluster("    server: https://a\n    certificate-authority-data: QQBC\n"),
           API_PROBLEM_CONFIGURATION, "not a text in Base64");
}
END_TEST

START_TEST(a_certificate_needs_its_key)
{
    refuse(CLUSTER "    client-certificate-data: Q0E=\n", API_PROBLEM_CONFIGURATION,
           "but not both");
    refuse(CLUSTER "    client-key-data: Q0E=\n", API_PROBLEM_CONFIGURATION, "but not both");
}
END_TEST

START_TEST(what_two_could_read_differently_is_refused_by_its_line)
{
    static const struct {
        const char *text;
        size_t line;
    } rows[] = {
        {"", 1},
        {"# nothing\n", 2},
        {"a: &x 1\n", 1},
        {"a: &x {b: c}\n", 1},
        {"&x a: b\n", 1},
        {"a:\n- &x [b]\n", 2},
        {"b: 1\na: *x\n", 2},
        {"a: !!str b\n", 1},
        {"b: c\na: !x {}\n", 2},
        {"a: ! []\n", 1},
        {"<<: {a: b}\n", 1},
        {"a: 'b\n", 2},
        {"a: \"\\0\"\n", 1},
        {"a: \"\\ud800\"\n", 1},
        {"a: 1\nb: 3\n\"a\": 2\n", 3},
        {"{\"a\": 1,\n\"a\": 2}", 2},
        {"true: a\n", 1},
        {"[a]: b\n", 1},
        {"a: b: c\n", 1},
        {"a: 1\n b: 2\n", 2},
        {"a:\n  b: 1\n c: 2\n", 3},
        {"a: \"b\"c\n", 1},
        {"\ta: 1\n", 1},
        {"a: 1\n- b\n", 2},
        {"a: 1\n---\nb: 2\n", 2},
        {"a: 1\n...\n%YAML 1.1\n---\n", 3},
        {"a: b\nc: \x01\n", 2},
        {"a: b\n\nc: \xff\n", 3},
        {"{\"a\": 1", 2},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t line = 0;
        json_auto_t *json = yaml_document_read(rows[i].text, strlen(rows[i].text), &line);
        ck_assert_msg(!json, "%s", rows[i].text);
        ck_assert_msg(line == rows[i].line, "%s: line %zu", rows[i].text, line);
    }
}
END_TEST

START_TEST(values_have_the_types_of_json)
{
    static const struct {
        const char *text;
        const char *json;
    } rows[] = {
        {"a: 1\n", "{\"a\": \"1\"}"},
        {"a:\nb: ~\nc: null # x\nd: true\ne: \"\"\nf: 'true'\ng: True\n",
         "{\"a\": null, \"b\": null, \"c\": null, \"d\": true, \"e\": \"\", \"f\": \"true\", "
         "\"g\": \"True\"}"},
        {"a:\n- b\n- c: d\n  e: f\n- g\nh: i",
         "{\"a\": [\"b\", {\"c\": \"d\", \"e\": \"f\"}, \"g\"], \"h\": \"i\"}"},
        {"a:\n  - b\n  -\n    c: d\n", "{\"a\": [\"b\", {\"c\": \"d\"}]}"},
        {"a: b # c\nd: e#f\ng: 'h: # i'\n", "{\"a\": \"b\", \"d\": \"e#f\", \"g\": \"h: # i\"}"},
        {"a: \"b\\n\\\"c\\\"\\x41\" # d\r\n\r\ne: x:y\r\n",
         "{\"a\": \"b\\n\\\"c\\\"A\", \"e\": \"x:y\"}"},
        {"- a\n- \"b: c\"\n- - d\n", "[\"a\", \"b: c\", [\"d\"]]"},
        {"\"a: b\": c\n", "{\"a: b\": \"c\"}"},
        {"\xef\xbb\xbf---\na: b\n...\n", "{\"a\": \"b\"}"},
        {"a: {b: c, d: [e, {}, []]}\n", "{\"a\": {\"b\": \"c\", \"d\": [\"e\", {}, []]}}"},
        {"a: |\n  b\n  c\nd: >-\n  e\n  f\ng: h\n  i\n",
         "{\"a\": \"b\\nc\\n\", \"d\": \"e f\", \"g\": \"h i\"}"},
        {"{\"a\":1,\n\t\"b\":[false,null,\"\\/\\u00e9\"]}",
         "{\"a\": \"1\", \"b\": [false, null, \"/\\u00e9\"]}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t line = 0;
        json_auto_t *read = yaml_document_read(rows[i].text, strlen(rows[i].text), &line);
        json_auto_t *expected = json_loads(rows[i].json, 0, NULL);
        ck_assert_ptr_nonnull(expected);
        ck_assert_msg(json_equal(read, expected), "%s: line %zu", rows[i].text, line);
    }
}
END_TEST

static bool is_read(const char *text, size_t length)
{
    size_t line = 0;
    json_auto_t *read = yaml_document_read(text, length, &line);
    ck_assert(read || line == 1);
    return read != NULL;
}

START_TEST(depth_has_an_end)
{
    char text[2 * YAML_DOCUMENT_DEPTH + 2];
    for (size_t i = 0; i <= YAML_DOCUMENT_DEPTH; i++) {
        text[i] = '[';
        text[2 * YAML_DOCUMENT_DEPTH + 1 - i] = ']';
    }
    ck_assert(!is_read(text, sizeof(text)));
    ck_assert(is_read(text + 1, sizeof(text) - 2));
}
END_TEST

START_TEST(the_number_of_nodes_has_an_end)
{
    static char text[2 * YAML_DOCUMENT_NODES + 1];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = ",a"[i % 2];
    text[0] = '[';
    text[sizeof(text) - 1] = ']';
    ck_assert(!is_read(text, sizeof(text)));
    text[sizeof(text) - 3] = ']';
    ck_assert(is_read(text, sizeof(text) - 2));
}
END_TEST

START_TEST(a_token_is_one_line)
{
    struct api_fault fault = {.problem = API_PROBLEM_NONE};
    static char good[] = "abc\n";
    static char bad[] = "a b";
    struct api_server server = {.token = good};
    char *token = api_server_token(&server, &fault);
    ck_assert_str_eq(token, "abc");
    free(token);
    server.token = bad;
    ck_assert_ptr_null(api_server_token(&server, &fault));
    ck_assert_uint_eq(fault.problem, API_PROBLEM_CREDENTIALS);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("kubeconfig");
    tcase_add_test(cases, kubectls_own_form_is_read);
    tcase_add_test(cases, files_are_beside_the_kubeconfig);
    tcase_add_test(cases, json_is_read_too);
    tcase_add_test(cases, programs_that_log_in_are_refused_by_name);
    tcase_add_test(cases, a_server_that_cannot_be_trusted_is_refused);
    tcase_add_test(cases, a_certificate_needs_its_key);
    tcase_add_test(cases, what_two_could_read_differently_is_refused_by_its_line);
    tcase_add_test(cases, values_have_the_types_of_json);
    tcase_add_test(cases, depth_has_an_end);
    tcase_add_test(cases, the_number_of_nodes_has_an_end);
    tcase_add_test(cases, a_token_is_one_line);
    return run_suite("kubeconfig", &cases, 1);
}
