/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer_endpoints: a model is offered those endpoints that its requests can have, with their
 * descriptions, and no member where there is none. Single-threaded.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate/offer/offer.h"
#include "policy/narrowing.h"
#include "tap_suite.h"
#include "json/json_place.h"

#define THREE                                                                             \
    "\"endpoints\":{\"one\":{\"base_url\":\"https://one.example\",\"allow\":[],"          \
    "\"description\":\"Issues of acme.\"},\"two\":{\"base_url\":\"https://two.example\"," \
    "\"allow\":[]},\"three\":{\"tunnel\":\"three.example:443\",\"description\":\"Files.\"}}"
#define GRANTS(entries) "\"capabilities\":[\"sandbox.exec\"" entries "],"

#define ONE_LINE   "\n- one: Issues of acme."
#define TWO_LINE   "\n- two"
#define THREE_LINE "\n- three (through HTTPS_PROXY alone): Files."

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

static struct policy *load(const char *text)
{
    struct error error;
    struct policy *policy = policy_load_text("test", text, strlen(text), &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    return policy;
}

/* The member's schema; NULL: it is not offered. */
static json_t *member(const struct policy *policy, enum sandbox_mode mode, const char *narrowing,
                      char *const *host)
{
    struct error error;
    struct json_place place = json_place_root("test", ERROR_INVALID_INPUT, &error);
    CLEANUP(narrowing_clear) struct narrowing narrowed = {0};
    json_auto_t *value = json_loads(narrowing, 0, NULL);
    ck_assert_msg(narrowing_read(&place, value, &narrowed), "%s", error.message);
    const struct configuration configuration = {(struct policy *)(uintptr_t)policy, mode};
    const struct offer offer = {&configuration, &narrowed, host, NULL};
    json_auto_t *schema = offer_input_schema(&offer);
    ck_assert_ptr_nonnull(schema);
    return json_incref(json_object_get(json_object_get(schema, "properties"), "endpoints"));
}

static char all[] = "sandbox.exec.endpoints";
static char only_two[] = "sandbox.exec.endpoints=two";
static char secrets[] = "sandbox.exec.secrets";
static char *const host_of_all[] = {all, NULL};
static char *const host_of_two[] = {only_two, NULL};
static char *const host_of_others[] = {secrets, NULL};

static const struct {
    const char *policy;
    enum sandbox_mode mode;
    const char *narrowing;
    char *const *host;
    const char *names, *lines; /* NULL: it is not offered */
} cases[] = {
    {"{}", SANDBOX_MODE_PROCESS, "{}", NULL, NULL, NULL},
    {"{" THREE "}", SANDBOX_MODE_PROCESS, "{}", NULL, "one,two,three,",
     ONE_LINE TWO_LINE THREE_LINE},
    {"{" THREE "}", SANDBOX_MODE_PROCESS, "{}", host_of_all, "one,two,three,",
     ONE_LINE TWO_LINE THREE_LINE},
    {"{" THREE "}", SANDBOX_MODE_PROCESS, "{}", host_of_two, "two,", TWO_LINE},
    {"{" THREE "}", SANDBOX_MODE_PROCESS, "{}", host_of_others, NULL, NULL},
    {"{" GRANTS("") THREE "}", SANDBOX_MODE_PROCESS, "{}", NULL, NULL, NULL},
    {"{" GRANTS(",\"sandbox.exec.network\"") THREE "}", SANDBOX_MODE_PROCESS, "{}", NULL, NULL,
     NULL},
    {"{" GRANTS(",\"sandbox.exec.endpoints=three\"") THREE "}", SANDBOX_MODE_PROCESS, "{}", NULL,
     "three,", THREE_LINE},
    {"{" THREE "}", SANDBOX_MODE_PROCESS, "{\"endpoints\":[\"one\"]}", NULL, "one,", ONE_LINE},
    {"{" THREE "}", SANDBOX_MODE_PROCESS, "{\"endpoints\":[]}", NULL, NULL, NULL},
    {"{" THREE "}", SANDBOX_MODE_DOCKER, "{}", NULL, "one,two,three,",
     ONE_LINE TWO_LINE THREE_LINE},
    {"{" THREE "}", SANDBOX_MODE_UNPRIVILEGED, "{}", NULL, NULL, NULL},
    {"{" THREE "}", SANDBOX_MODE_NONE, "{}", NULL, NULL, NULL},
};

START_TEST(those_that_a_request_can_have)
{
    char names[64] = "";
    CLEANUP(cleanup_policy) struct policy *policy = load(cases[_i].policy);
    json_auto_t *schema = member(policy, cases[_i].mode, cases[_i].narrowing, cases[_i].host);
    ck_assert_int_eq(schema != NULL, cases[_i].names != NULL);
    if (!schema)
        return;
    const json_t *offered = json_object_get(json_object_get(schema, "items"), "enum");
    for (size_t i = 0; i < json_array_size(offered); i++) {
        (void)strcat(names, json_string_value(json_array_get(offered, i)));
        (void)strcat(names, ",");
    }
    ck_assert_str_eq(names, cases[_i].names);
    const char *text = json_string_value(json_object_get(schema, "description"));
    const char *lines = strstr(text, " There are:");
    ck_assert_ptr_nonnull(lines);
    ck_assert_str_eq(lines + strlen(" There are:"), cases[_i].lines);
}
END_TEST

/* Names are never left out, descriptions are where there are too many. */
START_TEST(many_of_them)
{
    static char text[64 * 700];
    size_t length = (size_t)snprintf(text, sizeof(text), "{\"endpoints\":{");
    for (size_t i = 0; i < 64; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "%s\"e%zu\":{\"base_url\":\"https://a.b\",\"allow\":[],"
                                   "\"description\":\"%0500d\"}",
                                   i > 0 ? "," : "", i, 0);
    (void)snprintf(text + length, sizeof(text) - length, "}}");
    CLEANUP(cleanup_policy) struct policy *policy = load(text);
    json_auto_t *schema = member(policy, SANDBOX_MODE_PROCESS, "{}", NULL);
    const json_t *offered = json_object_get(json_object_get(schema, "items"), "enum");
    ck_assert_uint_eq(json_array_size(offered), 64);
    const char *description = json_string_value(json_object_get(schema, "description"));
    ck_assert_uint_lt(strlen(description), 8192);
    size_t described = 0;
    for (const char *line = strstr(description, "\n- "); line; line = strstr(line + 1, "\n- "))
        described++;
    char words[64];
    (void)snprintf(words, sizeof(words), "\n%zu more are not described.", 64 - described);
    ck_assert_msg(described > 10 && strstr(description, words) != NULL, "%zu: %s", described,
                  description);
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("offer_endpoints")};
    tcase_add_loop_test(parts[0], those_that_a_request_can_have, 0, (int)COUNT_OF(cases));
    tcase_add_test(parts[0], many_of_them);
    return run_suite("offer_endpoints", parts, COUNT_OF(parts));
}
