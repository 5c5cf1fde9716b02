/* SPDX-License-Identifier: Apache-2.0 */
/* Units of toolhost mcp that need no process: answers of other servers and what is allowed of their
 * tools, the state a client carries, lists of resources.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/approval/input_required.h"
#include "mcp/approval/request_state.h"
#include "mcp/client/link_messages.h"
#include "mcp/client/server_config.h"
#include "mcp/result/resource.h"
#include "tap_suite.h"

static json_int_t guessed(const char *line)
{
    return link_guess_number(line, strlen(line));
}

static json_int_t guessed_at_end(const char *line)
{
    return link_guess_number_at_end(line, strlen(line));
}

START_TEST(an_answer_that_cannot_be_read_may_show_its_number)
{
    ck_assert_int_eq(guessed("{\"id\":7,\"result\":{"), 7);
    ck_assert_int_eq(guessed("{\"result\":{\"id\":8}, \"id\" : 7 "), 7);
    ck_assert_int_eq(guessed("{\"id\":7,\"id\":8,\"result\":{"), 0);
    ck_assert_int_eq(guessed("{\"id\":7,\"method\":\"ping\","), 0);
    ck_assert_int_eq(guessed("{\"id\":\"7\",\"result\":{"), 0);
    ck_assert_int_eq(guessed("{\"id\":7.5,\"result\":{"), 0);
    ck_assert_int_eq(guessed("{\"id\":9999999999999999,\"result\":{"), 0);
    ck_assert_int_eq(guessed("{\"id\":"), 0);
    ck_assert_int_eq(guessed("{\"result\":{\"id\":7"), 0);
    ck_assert_int_eq(guessed_at_end("xx\",\"jsonrpc\":\"2.0\",\"id\":7}"), 7);
    ck_assert_int_eq(guessed_at_end("xx\",\"id\": 7 \r"), 0);
    ck_assert_int_eq(guessed_at_end("xx\",\"id\": 7}\r"), 7);
    ck_assert_int_eq(guessed_at_end("xx\",\"id\":7}}"), 0);
    ck_assert_int_eq(guessed_at_end("xx\\\"id\":7}"), 0);
    ck_assert_int_eq(guessed_at_end("xx\"id\":\"7\"}"), 0);
    ck_assert_int_eq(guessed_at_end("\"id\":7}"), 0); /* what is before it is not there */
    ck_assert_int_eq(guessed_at_end(""), 0);
}
END_TEST

START_TEST(patterns_allow_tools_and_the_longest_decides_about_approval)
{
    json_auto_t *tools = json_pack("[s, s]", "read_file", "list_*");
    json_auto_t *approval =
        json_pack("{s:s, s:s, s:s}", "*", "always_ask", "list_*", "never", "list_all", "ask");
    const struct server_config config = {.tools = tools, .approval = approval};
    const struct server_config none = {.name = "none"};
    ck_assert(server_config_allows(&config, "read_file"));
    ck_assert(server_config_allows(&config, "list_"));
    ck_assert(!server_config_allows(&config, "list"));
    ck_assert(!server_config_allows(&config, "read_files"));
    ck_assert(!server_config_allows(&config, "read_*"));
    ck_assert(!server_config_allows(&none, "read_file"));
    ck_assert_str_eq(server_config_approval(&config, "read_file"), "always_ask");
    ck_assert_str_eq(server_config_approval(&config, "list_one"), "never");
    ck_assert_str_eq(server_config_approval(&config, "list_all"), "ask");
    ck_assert_str_eq(server_config_approval(&none, "read_file"), "ask");
}
END_TEST

/* RFC 4231 does not use a key of 32 bytes; this code is from Python:
 * hmac.new(bytes(range(32)), b"N.H.12345\0root\0call\0", "sha256") with N = "n"*32, H = "h"*64. */
static const char known_code[] = "72cee48a67bd24b4d9eee4fb32703f087fc671f41a9773a93b9217b189b4714c";

static void fill(char *text, char letter, size_t length)
{
    memset(text, letter, length);
    text[length] = '\0';
}

START_TEST(state_is_authenticated)
{
    unsigned char key[REQUEST_STATE_KEY];
    char nonce[REQUEST_STATE_NONCE + 1], hash[65], text[REQUEST_STATE_LIMIT], found[33];
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (unsigned char)i;
    fill(nonce, 'n', REQUEST_STATE_NONCE);
    fill(hash, 'h', 64);
    const struct request_state_subject subject = {nonce, hash, "root", "call", 12345};
    request_state_make(key, &subject, text);
    ck_assert_str_eq(strrchr(text, '.') + 1, known_code);
    ck_assert_int_eq(request_state_check(key, text, "root", "call", 12344, found),
                     REQUEST_STATE_GOOD);
    ck_assert_str_eq(found, nonce);
    ck_assert_int_eq(request_state_check(key, text, "root", "call", 12345, found),
                     REQUEST_STATE_EXPIRED);
    ck_assert_int_eq(request_state_check(key, text, "toor", "call", 0, found),
                     REQUEST_STATE_FORGED);
    ck_assert_int_eq(request_state_check(key, text, "root", "other", 0, found),
                     REQUEST_STATE_FORGED);
    ck_assert_int_eq(request_state_check(key, text, "rootc", "all", 0, found),
                     REQUEST_STATE_FORGED);
    for (size_t i = 0; i < strlen(text); i++) {
        char changed[REQUEST_STATE_LIMIT];
        memcpy(changed, text, sizeof(changed));
        changed[i] ^= 1;
        ck_assert_int_eq(request_state_check(key, changed, "root", "call", 0, found),
                         REQUEST_STATE_FORGED);
        memcpy(changed, text, sizeof(changed));
        changed[i] = '\0';
        ck_assert_int_eq(request_state_check(key, changed, "root", "call", 0, found),
                         REQUEST_STATE_FORGED);
    }
    key[0] ^= 1;
    ck_assert_int_eq(request_state_check(key, text, "root", "call", 0, found),
                     REQUEST_STATE_FORGED);
}
END_TEST

START_TEST(required_inputs_are_bounded_and_serve_once)
{
    struct failure failure;
    CLEANUP(input_required_clear) struct input_required table;
    char hash[65], first[REQUEST_STATE_LIMIT], second[REQUEST_STATE_LIMIT];
    enum request_state_verdict verdict = REQUEST_STATE_FORGED;
    ck_assert(input_required_init(&table, &failure));
    fill(hash, 'a', 64);
    ck_assert(input_required_open(&table, hash, "root", 7, 60000, json_null()));
    ck_assert_ptr_null(input_required_find(&table, hash, "other"));
    struct required_input *input = input_required_find(&table, hash, "root");
    ck_assert_ptr_nonnull(input);
    ck_assert(input_required_make_state(&table, input, "call", first));
    ck_assert(input_required_make_state(&table, input, "call", second));
    ck_assert_ptr_eq(input_required_take_state(&table, first, "root", "call", &verdict), input);
    input_required_answered(&table, input);
    ck_assert_ptr_null(input_required_take_state(&table, first, "root", "call", &verdict));
    ck_assert_int_eq(verdict, REQUEST_STATE_EXPIRED);
    ck_assert_ptr_null(input_required_take_state(&table, second, "other", "call", &verdict));
    ck_assert_int_eq(verdict, REQUEST_STATE_FORGED);
    ck_assert_ptr_eq(input_required_take_state(&table, second, "root", "call", &verdict), input);
    input_required_answered(&table, input);
    ck_assert_ptr_null(input_required_find(&table, hash, "root"));
    for (unsigned i = 0; i < INPUT_REQUIRED_LIMIT; i++) {
        (void)snprintf(hash, sizeof(hash), "%064u", i);
        ck_assert(input_required_open(&table, hash, "root", i, 60000, json_null()));
    }
    ck_assert(input_required_open(&table, hash, "root", 7, 60000, json_null()));
    ck_assert_uint_eq(input_required_find(&table, hash, "root")->token, 7);
    ck_assert(!input_required_open(&table, hash, "other", 7, 60000, json_null()));
}
END_TEST

START_TEST(states_of_a_round_are_bounded)
{
    struct failure failure;
    CLEANUP(input_required_clear) struct input_required table;
    char hash[65], first[REQUEST_STATE_LIMIT], state[REQUEST_STATE_LIMIT];
    enum request_state_verdict verdict = REQUEST_STATE_FORGED;
    ck_assert(input_required_init(&table, &failure));
    fill(hash, 'a', 64);
    ck_assert(input_required_open(&table, hash, "root", 7, 60000, json_null()));
    struct required_input *input = input_required_find(&table, hash, "root");
    ck_assert(input_required_make_state(&table, input, "call", first));
    for (unsigned i = 0; i < INPUT_REQUIRED_STATES; i++)
        ck_assert(input_required_make_state(&table, input, "call", state));
    ck_assert_uint_eq(input->nonce_count, INPUT_REQUIRED_STATES);
    ck_assert_ptr_null(input_required_take_state(&table, first, "root", "call", &verdict));
    ck_assert_int_eq(verdict, REQUEST_STATE_EXPIRED);
    ck_assert_ptr_eq(input_required_take_state(&table, state, "root", "call", &verdict), input);
}
END_TEST

static void add_uris(struct resource_list *list, const char *uri, size_t count)
{
    json_auto_t *output = json_pack("{s:[{s:s}]}", "files", "uri", uri);
    for (size_t i = 0; i < count; i++)
        resource_list_add(list, output);
}

static size_t listed(struct resource_list *list, const struct artifact_store *store)
{
    struct failure failure;
    json_auto_t *page = resource_list_page(list, store, NULL, &failure);
    ck_assert_ptr_nonnull(page);
    return json_array_size(json_object_get(page, "resources"));
}

START_TEST(so_many_resources_are_listed_and_no_more)
{
    static const char gone[] = "toolhost://run/00000000000000000000000000000000/gone";
    char home[] = "/tmp/resources-XXXXXX", path[64], command[64];
    CLEANUP(artifact_store_clear) struct artifact_store store = {0};
    CLEANUP(resource_list_clear) struct resource_list list;
    struct failure failure;
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(mkdtemp(home));
    (void)snprintf(path, sizeof(path), "%s/store", home);
    ck_assert(artifact_store_init(&store, path, 1 << 20, 60000, &failure));
    json_auto_t *named = json_pack("{s:s}", "path", "kept");
    json_auto_t *entry = artifact_store_keep(&store, named, fileno(file), &failure);
    (void)fclose(file);
    resource_list_init(&list);
    add_uris(&list, json_string_value(json_object_get(entry, "uri")), 1);
    add_uris(&list, gone, RESOURCES_MOST - 1);
    ck_assert_uint_eq(listed(&list, &store), 1);
    add_uris(&list, "x://no-file-of-ours", 5);
    ck_assert_uint_eq(listed(&list, &store), 1);
    add_uris(&list, gone, 1);
    ck_assert_uint_eq(listed(&list, &store), 0);
    (void)snprintf(command, sizeof(command), "rm -r %s", home);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    TCase *units = tcase_create("units");
    tcase_add_test(units, an_answer_that_cannot_be_read_may_show_its_number);
    tcase_add_test(units, patterns_allow_tools_and_the_longest_decides_about_approval);
    tcase_add_test(units, state_is_authenticated);
    tcase_add_test(units, required_inputs_are_bounded_and_serve_once);
    tcase_add_test(units, states_of_a_round_are_bounded);
    tcase_add_test(units, so_many_resources_are_listed_and_no_more);
    return run_suite("mcp", &units, 1);
}
