/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_endpoints: what of an endpoint's definition goes into the order for the broker, what is
 * refused and where, and what its digest covers. Single-threaded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy.h"
#include "tap_suite.h"

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

/* The policy with these endpoints, members of an object; NULL with error. */
static struct policy *load(const char *endpoints, struct error *error)
{
    char text[8192];
    int length = snprintf(text, sizeof(text), "{\"endpoints\":{%s}}", endpoints);
    ck_assert_uint_lt(length, sizeof(text));
    return policy_load_text("test", text, (size_t)length, error);
}

static struct policy *load_good(const char *endpoints)
{
    struct error error;
    struct policy *policy = load(endpoints, &error);
    ck_assert_msg(policy != NULL, "%s: %s", endpoints, error.message);
    return policy;
}

#define GITHUB                                                                                   \
    "\"github\":{\"base_url\":\"https://api.github.com:443/v3/\",\"description\":\"Issues.\","   \
    "\"allow\":[{\"methods\":[\"GET\",\"HEAD\"],\"paths\":[\"/repos/acme/*/issues\"]},"          \
    "{\"methods\":[],\"paths\":[]}],\"auth\":{\"type\":\"header\",\"secret\":\"token\","         \
    "\"name\":\"authorization\",\"prefix\":\"token \"},\"headers\":{\"accept\":\"text/plain\"}," \
    "\"request_headers\":[\"x-page\"],\"response_headers\":[\"x-total\",\"x-next\"],"            \
    "\"limits\":{\"requests\":1,\"request_bytes\":2,\"response_bytes\":3,\"timeout_ms\":4,"      \
    "\"in_flight\":5},\"private\":true,\"variables\":{\"GITHUB_URL\":\"\",\"A\":\"/v1\"},"       \
    "\"preset\":\"openai\",\"approval\":\"never\"}"

START_TEST(every_member_goes_into_the_order)
{
    CLEANUP(cleanup_policy) struct policy *policy = load_good(GITHUB);
    const struct policy_endpoint *endpoint = policy_find_endpoint(policy, "github");
    const struct egress_endpoint *order = &endpoint->order;
    ck_assert_uint_eq(policy->endpoint_count, 1);
    ck_assert_ptr_null(policy_find_endpoint(policy, "gitlab"));
    ck_assert_str_eq(order->name, "github");
    ck_assert_str_eq(order->base_url, "https://api.github.com/v3");
    ck_assert_uint_eq(order->tunnel, 0);
    ck_assert_uint_eq(order->rule_count, 2);
    ck_assert_str_eq(order->rules[0].methods[1], "HEAD");
    ck_assert_ptr_null(order->rules[0].methods[2]);
    ck_assert_str_eq(order->rules[0].paths[0], "/repos/acme/*/issues");
    ck_assert_uint_eq(string_list_count(order->rules[1].methods), 0);
    ck_assert_uint_eq(string_list_count(order->rules[1].paths), 0);
    ck_assert_uint_eq(order->auth, EGRESS_AUTH_HEADER);
    ck_assert_str_eq(order->auth_name, "authorization");
    ck_assert_str_eq(order->auth_prefix, "token ");
    ck_assert_str_eq(endpoint->secret, "token");
    ck_assert_uint_eq(order->credential.length, 0);
    ck_assert_str_eq(order->headers[0], "accept: text/plain");
    ck_assert_str_eq(order->request_headers[0], "x-page");
    ck_assert_str_eq(order->response_headers[1], "x-next");
    ck_assert_uint_eq(order->limits.requests, 1);
    ck_assert_uint_eq(order->limits.request_bytes, 2);
    ck_assert_uint_eq(order->limits.response_bytes, 3);
    ck_assert_uint_eq(order->limits.timeout_ms, 4);
    ck_assert_uint_eq(order->limits.in_flight, 5);
    ck_assert_uint_eq(order->private_addresses, 1);
    ck_assert_str_eq(endpoint->description, "Issues.");
    ck_assert_str_eq(endpoint->preset->name, "openai");
    ck_assert(!endpoint->ask);
    ck_assert_str_eq(endpoint->variables[0], "A=/v1");
    ck_assert_str_eq(endpoint->variables[1], "GITHUB_URL=");
    ck_assert_str_eq(endpoint->variables[2], "OPENAI_BASE_URL=");
    ck_assert_ptr_null(endpoint->variables[3]);
}
END_TEST

START_TEST(what_is_absent_is_strict_and_never_null)
{
    CLEANUP(cleanup_policy)
    struct policy *policy = load_good("\"a\":{\"base_url\":\"https://a.b\",\"allow\":[]}");
    const struct policy_endpoint *endpoint = &policy->endpoints[0];
    const struct egress_endpoint *order = &endpoint->order;
    ck_assert(endpoint->ask);
    ck_assert_uint_eq(order->rule_count, 0);
    ck_assert_uint_eq(order->private_addresses, 0);
    ck_assert_uint_eq(order->auth, EGRESS_AUTH_NONE);
    ck_assert_ptr_null(endpoint->secret);
    ck_assert_str_eq(endpoint->description, "");
    ck_assert_str_eq(order->auth_name, "");
    ck_assert_str_eq(order->auth_prefix, "");
    ck_assert_ptr_null(order->headers[0]);
    ck_assert_ptr_null(order->request_headers[0]);
    ck_assert_ptr_null(order->response_headers[0]);
    ck_assert_ptr_null(endpoint->variables[0]);
    ck_assert_ptr_null(order->ca.bytes);
    ck_assert_uint_eq(order->limits.requests, 100);
    ck_assert_uint_eq(order->limits.request_bytes, 1 << 20);
    ck_assert_uint_eq(order->limits.response_bytes, 16 << 20);
    ck_assert_uint_eq(order->limits.timeout_ms, 30000);
    ck_assert_uint_eq(order->limits.in_flight, 8);
}
END_TEST

START_TEST(nothing_is_offered_by_default)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *policy = policy_load_builtin(&error);
    ck_assert_uint_eq(policy->endpoint_count, 0);
}
END_TEST

START_TEST(a_preset_gives_way_to_a_variable)
{
    static const struct {
        const char *members, *variable;
    } cases[] = {
        {"\"preset\":\"anthropic\"", "ANTHROPIC_BASE_URL="},
        {"\"preset\":\"pip\"", "PIP_INDEX_URL=/simple"},
        {"\"preset\":\"npm\"", "npm_config_registry=/"},
        {"\"preset\":\"git\"", NULL},
        {"\"preset\":\"openai\",\"variables\":{\"OPENAI_BASE_URL\":\"/v1\"}",
         "OPENAI_BASE_URL=/v1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), "\"a\":{\"base_url\":\"https://a.b\",\"allow\":[],%s}",
                       cases[i].members);
        CLEANUP(cleanup_policy) struct policy *policy = load_good(text);
        char **variables = policy->endpoints[0].variables;
        ck_assert_uint_eq(string_list_count(variables), cases[i].variable != NULL);
        if (cases[i].variable)
            ck_assert_str_eq(variables[0], cases[i].variable);
    }
}
END_TEST

#define OF(members)     "\"e\":{" members "}"
#define WEB(members)    OF("\"base_url\":\"https://a.b\",\"allow\":[]," members)
#define RULE(rule)      OF("\"base_url\":\"https://a.b\",\"allow\":[" rule "]")
#define URL(url)        OF("\"base_url\":\"" url "\",\"allow\":[]")
#define TUNNEL(members) OF("\"tunnel\":\"a.b:443\"," members)
#define AUTH(members)   WEB("\"auth\":{\"secret\":\"s\"," members "}")

static const struct {
    const char *endpoints, *place, *words;
} refused[] = {
    {"\"E\":{}", "/endpoints/E", "an endpoint's name"},
    {"\"1e\":{}", "/endpoints/1e", "an endpoint's name"},
    {"\"-\":{}", "/endpoints/-", "an endpoint's name"},
    {"\"e_f\":{}", "/endpoints/e_f", "an endpoint's name"},
    {"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":{}", "/endpoints/a", "an endpoint's name"},
    {"\"e\":[]", "/endpoints/e", "must be an object"},
    {OF(""), "/endpoints/e/base_url", "missing"},
    {OF("\"base_url\":\"https://a.b\""), "/endpoints/e/allow", "missing"},
    {OF("\"allow\":[]"), "/endpoints/e/base_url", "missing"},
    {OF("\"base_url\":\"https://a.b\",\"allow\":[],\"tunnel\":\"a.b:443\""),
     "/endpoints/e/base_url", "unknown member"},
    {URL("https://A.b"), "/endpoints/e/base_url", "byte other than"},
    {URL("https://a.b\\u0000.c"), "", ""},
    {URL("http://a.b"), "/endpoints/e/base_url", "\"private\""},
    {URL("https://10.0.0.1"), "/endpoints/e/base_url", "\"private\""},
    {URL("https://[fd00::1]"), "/endpoints/e/base_url", "\"private\""},
    {URL("https://intranet"), "/endpoints/e/base_url", "\"private\""},
    {OF("\"base_url\":\"http://a.b\",\"allow\":[],\"private\":true,\"auth\":{\"type\":\"bearer\","
        "\"secret\":\"s\"}"),
     "/endpoints/e/base_url", "over https alone"},
    {OF("\"tunnel\":\"intranet:443\""), "/endpoints/e/tunnel", "\"private\""},
    {OF("\"tunnel\":\"10.0.0.1:443\",\"private\":true"), "/endpoints/e/tunnel",
     "names no addresses"},
    {OF("\"tunnel\":1"), "/endpoints/e/tunnel", "must be a string"},
    {TUNNEL("\"allow\":[]"), "/endpoints/e/allow", "unknown member"},
    {TUNNEL("\"auth\":{\"type\":\"bearer\",\"secret\":\"s\"}"), "/endpoints/e/auth",
     "unknown member"},
    {TUNNEL("\"ca_file\":\"/a\""), "/endpoints/e/ca_file", "unknown member"},
    {RULE("{}"), "/endpoints/e/allow/0/methods", "missing"},
    {RULE("{\"methods\":[]}"), "/endpoints/e/allow/0/paths", "missing"},
    {RULE("{\"methods\":[\"*\"],\"paths\":[]}"), "/endpoints/e/allow/0/methods/0", "must be GET"},
    {RULE("{\"methods\":\"GET\",\"paths\":[]}"), "/endpoints/e/allow/0/methods", "an array"},
    {RULE("{\"methods\":[],\"paths\":[\"a\"]}"), "/endpoints/e/allow/0/paths/0", "begin with"},
    {RULE("{\"methods\":[],\"paths\":[\"/a?b\"]}"), "/endpoints/e/allow/0/paths/0", "every query"},
    {AUTH("\"type\":\"digest\""), "/endpoints/e/auth/type", "must be bearer"},
    {WEB("\"auth\":{\"type\":\"bearer\"}"), "/endpoints/e/auth/secret", "missing"},
    {WEB("\"auth\":{}"), "/endpoints/e/auth/type", "missing"},
    {WEB("\"auth\":{\"type\":\"bearer\",\"secret\":\"a b\"}"), "/endpoints/e/auth/secret",
     "a secret's name"},
    {AUTH("\"type\":\"bearer\",\"name\":\"x\""), "/endpoints/e/auth/name", "unknown member"},
    {AUTH("\"type\":\"basic\""), "/endpoints/e/auth/user", "missing"},
    {AUTH("\"type\":\"basic\",\"user\":\"a:b\""), "/endpoints/e/auth/user", "\":\""},
    {AUTH("\"type\":\"header\",\"name\":\"cookie\""), "/endpoints/e/auth/name", "no endpoint"},
    {AUTH("\"type\":\"header\",\"name\":\"x\",\"prefix\":\"a\\n\""), "/endpoints/e/auth/prefix",
     "printable"},
    {AUTH("\"type\":\"query\",\"name\":\"a=b\""), "/endpoints/e/auth/name", "of a parameter"},
    {WEB("\"headers\":{\"host\":\"x\"}"), "/endpoints/e/headers/host", "no endpoint"},
    {WEB("\"headers\":{\"a\":\"x\\r\\nb: c\"}"), "/endpoints/e/headers/a", "printable"},
    {WEB("\"headers\":{\"a\":1}"), "/endpoints/e/headers/a", "must be a string"},
    {WEB("\"request_headers\":[\"authorization\"]"), "/endpoints/e/request_headers/0",
     "no endpoint"},
    {WEB("\"request_headers\":[\"range\"]"), "/endpoints/e/request_headers/0", "no endpoint"},
    {WEB("\"response_headers\":[\"set-cookie\"]"), "/endpoints/e/response_headers/0",
     "no endpoint"},
    {WEB("\"limits\":{\"requests\":0}"), "/endpoints/e/limits/requests", "between 1"},
    {WEB("\"limits\":{\"in_flight\":65}"), "/endpoints/e/limits/in_flight", "and 64"},
    {WEB("\"private\":1"), "/endpoints/e/private", "true or false"},
    {WEB("\"ca_file\":\"a.pem\""), "/endpoints/e/ca_file", "absolute path"},
    {WEB("\"ca_file\":\"/nonexistent/a.pem\""), "/endpoints/e/ca_file", "/nonexistent"},
    {WEB("\"variables\":{\"CODE_EXECUTE_ENDPOINT_E\":\"\"}"),
     "/endpoints/e/variables/CODE_EXECUTE_ENDPOINT_E", "are ours"},
    {WEB("\"variables\":{\"1\":\"\"}"), "/endpoints/e/variables/1", "a variable's name"},
    {WEB("\"variables\":{\"A\":\"v1\"}"), "/endpoints/e/variables/A", "begin with"},
    {WEB("\"variables\":{\"A\":\"/../b\"}"), "/endpoints/e/variables/A", "\"..\""},
    {WEB("\"variables\":{\"A\":\"/b?c\"}"), "/endpoints/e/variables/A", "a query"},
    {WEB("\"preset\":\"curl\""), "/endpoints/e/preset", "must be openai"},
    {WEB("\"approval\":\"deny\""), "/endpoints/e/approval", "must be never or ask"},
    {WEB("\"description\":\"a\\nb\""), "/endpoints/e/description", "control"},
};

START_TEST(refuses_at_its_place)
{
    struct error error = {0};
    CLEANUP(cleanup_policy) struct policy *policy = load(refused[_i].endpoints, &error);
    ck_assert_msg(policy == NULL, "%s is taken", refused[_i].endpoints);
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_msg(strstr(error.message, refused[_i].place) != NULL &&
                      strstr(error.message, refused[_i].words) != NULL,
                  "%s: %s", refused[_i].endpoints, error.message);
}
END_TEST

static void digest_of(const char *endpoints, char ret[65])
{
    CLEANUP(cleanup_policy) struct policy *policy = load_good(endpoints);
    ck_assert_uint_eq(strlen(policy->endpoints[0].sha256), 64);
    memcpy(ret, policy->endpoints[0].sha256, 65);
}

/* A change of any member is another digest; one of the order of members is none. */
START_TEST(the_digest_is_that_of_the_definition)
{
    static const char *const others[] = {
        "\"f\":{\"base_url\":\"https://a.b\",\"allow\":[]}",
        URL("https://a.c"),
        WEB("\"description\":\"x\""),
        RULE("{\"methods\":[\"GET\"],\"paths\":[]}"),
        RULE("{\"methods\":[\"GET\"],\"paths\":[\"/\"]}"),
        AUTH("\"type\":\"bearer\""),
        AUTH("\"type\":\"basic\",\"user\":\"u\""),
        WEB("\"headers\":{\"a\":\"b\"}"),
        WEB("\"request_headers\":[\"a\"]"),
        WEB("\"response_headers\":[\"a\"]"),
        WEB("\"limits\":{\"requests\":101}"),
        WEB("\"private\":true"),
        WEB("\"variables\":{\"A\":\"\"}"),
        WEB("\"preset\":\"git\""),
        WEB("\"approval\":\"never\""),
        TUNNEL("\"limits\":{}"),
    };
    char digests[COUNT_OF(others) + 1][65];
    char again[65];
    digest_of(URL("https://a.b"), digests[COUNT_OF(others)]);
    digest_of(OF("\"allow\":[],\"base_url\":\"https://a.b\""), again);
    ck_assert_str_eq(again, digests[COUNT_OF(others)]);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        digest_of(others[i], digests[i]);
    for (size_t i = 0; i <= COUNT_OF(others); i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(strcmp(digests[i], digests[k]) != 0, "%zu and %zu", i, k);
}
END_TEST

#define PEM(text) "-----BEGIN CERTIFICATE-----\n" text "\n-----END CERTIFICATE-----\n"

struct file {
    char path[64];
};

static void write_file(struct file *file, const char *bytes, size_t length)
{
    int fd = open(file->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    (void)close(fd);
}

static struct file new_file(void)
{
    struct file file = {.path = P_tmpdir "/test-endpoints-XXXXXX"};
    int fd = mkostemp(file.path, O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    return file;
}

static void remove_file(struct file *file)
{
    (void)unlink(file->path);
}

static struct policy *load_with_ca(const struct file *file, struct error *error)
{
    char text[256];
    (void)snprintf(text, sizeof(text), WEB("\"ca_file\":\"%s\""), file->path);
    return load(text, error);
}

START_TEST(certificates_are_read_with_the_policy)
{
    struct error error;
    CLEANUP(remove_file) struct file file = new_file();
    write_file(&file, PEM("a"), strlen(PEM("a")));
    CLEANUP(cleanup_policy) struct policy *before = load_with_ca(&file, &error);
    ck_assert_msg(before != NULL, "%s", error.message);
    const struct wire_bytes *ca = &before->endpoints[0].order.ca;
    ck_assert_uint_eq(ca->length, strlen(PEM("a")));
    ck_assert_mem_eq(ca->bytes, PEM("a"), ca->length);
    write_file(&file, PEM("b"), strlen(PEM("b")));
    CLEANUP(cleanup_policy) struct policy *after = load_with_ca(&file, &error);
    ck_assert_msg(after != NULL, "%s", error.message);
    ck_assert_str_eq(before->sha256, after->sha256);
    ck_assert_str_ne(before->endpoints[0].sha256, after->endpoints[0].sha256);
}
END_TEST

static void refuse_ca(const struct file *file, const char *words)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *policy = load_with_ca(file, &error);
    ck_assert_msg(policy == NULL, "it is taken: %s", words);
    ck_assert_msg(strstr(error.message, words) != NULL, "%s", error.message);
}

START_TEST(other_files_are_no_certificates)
{
    struct error error;
    CLEANUP(remove_file) struct file file = new_file();
    CLEANUP_FREE char *long_text = malloc(EGRESS_CA_LIMIT + 1);
    refuse_ca(&file, "no certificate in PEM");
    write_file(&file, "-----BEGIN PRIVATE KEY-----", 27);
    refuse_ca(&file, "no certificate in PEM");
    write_file(&file, PEM("a\0b"), sizeof(PEM("a\0b")) - 1);
    refuse_ca(&file, "no certificate in PEM");
    memset(long_text, '\n', EGRESS_CA_LIMIT + 1);
    memcpy(long_text, PEM("a"), strlen(PEM("a")));
    write_file(&file, long_text, EGRESS_CA_LIMIT);
    CLEANUP(cleanup_policy) struct policy *longest = load_with_ca(&file, &error);
    ck_assert_msg(longest != NULL, "%s", error.message);
    write_file(&file, long_text, EGRESS_CA_LIMIT + 1);
    refuse_ca(&file, "longer than");
}
END_TEST

START_TEST(nobody_else_may_write_to_the_certificates)
{
    struct error error;
    CLEANUP(remove_file) struct file file = new_file();
    write_file(&file, PEM("a"), strlen(PEM("a")));
    ck_assert_int_eq(chmod(file.path, 0646), 0);
    CLEANUP(cleanup_policy) struct policy *policy = load_with_ca(&file, &error);
    ck_assert_ptr_null(policy);
    ck_assert_ptr_nonnull(strstr(error.message, "/endpoints/e/ca_file"));
    ck_assert_msg(strstr(error.hint, "chmod") != NULL, "%s", error.hint);
    ck_assert_int_eq(chmod(file.path, 0600), 0);
    CLEANUP(cleanup_policy) struct policy *own = load_with_ca(&file, &error);
    ck_assert_msg(own != NULL, "%s", error.message);
}
END_TEST

/* What the policy takes is an order that the broker takes. */
START_TEST(the_broker_takes_it)
{
    static const char *const taken[] = {
        GITHUB,
        URL("https://a.b/c.d/~e!$&'()+,=:-"),
        OF("\"base_url\":\"http://[fd00::1]:8080\",\"allow\":[],\"private\":true"),
        OF("\"tunnel\":\"a.b:8443\""),
        AUTH("\"type\":\"bearer\""),
        AUTH("\"type\":\"basic\",\"user\":\"\""),
        AUTH("\"type\":\"query\",\"name\":\"k.e_y~-\""),
        WEB("\"headers\":{\"a\":\"\",\"b-1\":\"c d\"},\"variables\":{\"A\":\"/b/\"}"),
        RULE("{\"methods\":[\"GET\",\"HEAD\",\"POST\",\"PUT\",\"PATCH\",\"DELETE\",\"OPTIONS\"],"
             "\"paths\":[\"/\",\"/**\",\"/%20/[a-c]*\"]}"),
    };
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        CLEANUP(cleanup_policy) struct policy *policy = load_good(taken[i]);
        struct egress_endpoint endpoint = policy->endpoints[0].order;
        unsigned char credential[] = "c";
        if (endpoint.auth != EGRESS_AUTH_NONE)
            endpoint.credential = (struct wire_bytes){credential, 1};
        char principal[] = "p";
        struct egress_order decoded, order = {.run_id = "0123456789abcdef0123456789abcdef",
                                              .principal = principal,
                                              .endpoints = &endpoint,
                                              .endpoint_count = 1};
        size_t length;
        CLEANUP_FREE unsigned char *message = egress_order_encode(&order, &length);
        ck_assert_msg(message && egress_order_decode(message, length, &decoded), "%s", taken[i]);
        ck_assert_str_eq(decoded.endpoints[0].base_url, endpoint.base_url);
        egress_order_clear(&decoded);
    }
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("definitions"), tcase_create("refusals"),
                      tcase_create("certificates")};
    tcase_add_test(parts[0], every_member_goes_into_the_order);
    tcase_add_test(parts[0], what_is_absent_is_strict_and_never_null);
    tcase_add_test(parts[0], nothing_is_offered_by_default);
    tcase_add_test(parts[0], a_preset_gives_way_to_a_variable);
    tcase_add_test(parts[0], the_digest_is_that_of_the_definition);
    tcase_add_test(parts[0], the_broker_takes_it);
    tcase_add_loop_test(parts[1], refuses_at_its_place, 0, (int)COUNT_OF(refused));
    tcase_add_test(parts[2], certificates_are_read_with_the_policy);
    tcase_add_test(parts[2], other_files_are_no_certificates);
    tcase_add_test(parts[2], nobody_else_may_write_to_the_certificates);
    return run_suite("policy_endpoints", parts, COUNT_OF(parts));
}
