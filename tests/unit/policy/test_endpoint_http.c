/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint_http: which methods, patterns of paths, headers and parameters an endpoint may name. */
#include <string.h>

#include "base/cleanup.h"
#include "policy/endpoint_http.h"
#include "tap_suite.h"

/* words NULL: it is taken; else it is refused, in words that have this part. */
struct text_case {
    const char *text, *words;
};

static const struct text_case methods[] = {
    {"GET", NULL},          {"OPTIONS", NULL},      {"get", "capital"}, {"GET ", "capital"},
    {"CONNECT", "capital"}, {"TRACE", "capital"},   {"", "capital"},    {"GETT", "capital"},
    {"*", "capital"},       {"GET\r\n", "capital"}, {"POST", NULL},
};

static const struct text_case paths[] = {
    {"/", NULL},
    {"/**", NULL},
    {"/repos/acme/*/issues", NULL},
    {"/a/", NULL},
    {"/[a-c]/x%20y", NULL},
    {"/.*", NULL},
    {"/...", NULL},
    {"/~a/b@c:d", NULL},
    {"", "must begin with"},
    {"a", "must begin with"},
    {"*", "must begin with"},
    {"https://a.b/c", "must begin with"},
    {"//", "empty part"},
    {"/a//b", "empty part"},
    {"//a", "empty part"},
    {"/.", "\"..\" part"},
    {"/..", "\"..\" part"},
    {"/a/../b", "\"..\" part"},
    {"/a/./b", "\"..\" part"},
    {"/a/..", "\"..\" part"},
    {"/a?b=c", "every query"},
    {"/?", "every query"},
    {"/a#b", "as %XX"},
    {"/a b", "as %XX"},
    {"/a;b", "as %XX"},
    {"/a\\b", "as %XX"},
    {"/a%", "as %XX"},
    {"/a%2", "as %XX"},
    {"/a%2f", "as %XX"},
    {"/a%zz", "as %XX"},
    {"/\xc3\xa4", "as %XX"},
    {"/a\n", "as %XX"},
    {"/\x7f", "as %XX"},
};

static const struct text_case headers[] = {
    {"accept", NULL},
    {"x-page", NULL},
    {"openai-organization", NULL},
    {"1", NULL},
    {"hostname", NULL},
    {"", "name of a header"},
    {"Accept", "name of a header"},
    {"-a", "name of a header"},
    {"a b", "name of a header"},
    {"a:", "name of a header"},
    {"a\r\nhost", "name of a header"},
    {"x_a", "name of a header"},
    {"\xc3\xa4", "name of a header"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "name of a header"},
    {"authorization", "no endpoint may have"},
    {"cookie", "no endpoint may have"},
    {"set-cookie", "no endpoint may have"},
    {"host", "no endpoint may have"},
    {"connection", "no endpoint may have"},
    {"keep-alive", "no endpoint may have"},
    {"te", "no endpoint may have"},
    {"trailer", "no endpoint may have"},
    {"upgrade", "no endpoint may have"},
    {"transfer-encoding", "no endpoint may have"},
    {"content-length", "no endpoint may have"},
    {"content-encoding", "no endpoint may have"},
    {"accept-encoding", "no endpoint may have"},
    {"expect", "no endpoint may have"},
    {"range", "no endpoint may have"},
    {"location", "no endpoint may have"},
    {"forwarded", "no endpoint may have"},
    {"proxy-authorization", "no endpoint may have"},
    {"proxy-anything", "no endpoint may have"},
    {"x-forwarded-for", "no endpoint may have"},
};

static const struct text_case values[] = {
    {"", NULL},
    {"application/json; q=0.5", NULL},
    {" a", "blank"},
    {"a ", "blank"},
    {"a\r\nhost: b", "printable"},
    {"a\tb", "printable"},
    {"\xc3\xa4", "printable"},
    {"\x7f", "printable"},
};

static const struct text_case parameters[] = {
    {"api_key", NULL},          {"k.e-y~1", NULL},         {"", "name of a parameter"},
    {"a b", "of a parameter"},  {"a=b", "of a parameter"}, {"a&b", "of a parameter"},
    {"a%20", "of a parameter"},
};

static void hold(const struct text_case *wanted, const char *why_not)
{
    if (wanted->words)
        ck_assert_msg(why_not && strstr(why_not, wanted->words), "%s: %s", wanted->text,
                      why_not ? why_not : "it is taken");
    else
        ck_assert_msg(!why_not, "%s: %s", wanted->text, why_not);
}

START_TEST(method)
{
    hold(&methods[_i], endpoint_method_check(methods[_i].text));
}
END_TEST

START_TEST(path)
{
    hold(&paths[_i], endpoint_path_check(paths[_i].text));
}
END_TEST

START_TEST(header)
{
    hold(&headers[_i], endpoint_header_check(headers[_i].text));
}
END_TEST

START_TEST(value)
{
    hold(&values[_i], endpoint_header_value_check(values[_i].text));
}
END_TEST

START_TEST(parameter)
{
    hold(&parameters[_i], endpoint_parameter_check(parameters[_i].text));
}
END_TEST

/* The one header that a credential may be in, and none of the others. */
START_TEST(header_of_a_credential)
{
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        const char *name = headers[i].text;
        bool taken = endpoint_auth_header_check(name) == NULL;
        ck_assert_msg(taken == (!headers[i].words || strcmp(name, "authorization") == 0), "%s",
                      name);
    }
}
END_TEST

START_TEST(longest_path)
{
    char text[ENDPOINT_PATH_LIMIT + 2];
    memset(text, 'a', sizeof(text));
    text[0] = '/';
    text[ENDPOINT_PATH_LIMIT] = '\0';
    ck_assert_ptr_null(endpoint_path_check(text));
    text[ENDPOINT_PATH_LIMIT] = 'a';
    text[ENDPOINT_PATH_LIMIT + 1] = '\0';
    ck_assert_ptr_nonnull(endpoint_path_check(text));
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("texts")};
    tcase_add_loop_test(parts[0], method, 0, (int)COUNT_OF(methods));
    tcase_add_loop_test(parts[0], path, 0, (int)COUNT_OF(paths));
    tcase_add_loop_test(parts[0], header, 0, (int)COUNT_OF(headers));
    tcase_add_loop_test(parts[0], value, 0, (int)COUNT_OF(values));
    tcase_add_loop_test(parts[0], parameter, 0, (int)COUNT_OF(parameters));
    tcase_add_test(parts[0], header_of_a_credential);
    tcase_add_test(parts[0], longest_path);
    return run_suite("endpoint_http", parts, COUNT_OF(parts));
}
