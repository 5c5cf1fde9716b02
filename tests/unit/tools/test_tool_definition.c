/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of a context: reading them, what a request selects, and their identifiers. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap_suite.h"
#include "tools/tool_definition.h"

#define SCHEMA "\"input_schema\":{\"type\":\"object\"}"

static bool read_tools(const char *text, struct tool_list *ret, struct error *error)
{
    struct json_place root = json_place_root("context", ERROR_INVALID_INPUT, error);
    struct json_place place = json_place_named(&root, "tools");
    json_auto_t *json = json_loads(text, 0, NULL);
    ck_assert_msg(json != NULL, "%s", text);
    return tool_list_read(&place, json, ret);
}

static void must_read(const char *text, struct tool_list *ret)
{
    struct error error;
    ck_assert_msg(read_tools(text, ret, &error), "%s", error.message);
}

START_TEST(reads)
{
    CLEANUP(tool_list_clear) struct tool_list list = {0};
    must_read("[{\"name\":\"jira.create\",\"title\":\"Create\",\"description\":\"Two\\nlines\","
              "\"input_schema\":{\"maximum\":1.5},\"output_schema\":{},\"annotations\":{\"a\":1},"
              "\"approval\":\"always_ask\"},{\"name\":\"b\"," SCHEMA "},{\"name\":\"c\"," SCHEMA
              ",\"approval\":\"never\"}]",
              &list);
    ck_assert_uint_eq(list.count, 3);
    const struct tool_definition *first = tool_list_find(&list, "jira.create");
    ck_assert_ptr_eq(first, &list.items[0]);
    ck_assert_str_eq(first->title, "Create");
    ck_assert_str_eq(first->description, "Two\nlines");
    ck_assert_str_eq(first->identifier, "");
    ck_assert_int_eq(first->approval, TOOL_APPROVAL_ALWAYS_ASK);
    ck_assert(first->output_schema && first->annotations);
    ck_assert_ptr_null(list.items[1].title);
    ck_assert_ptr_null(list.items[1].output_schema);
    ck_assert_int_eq(list.items[1].approval, TOOL_APPROVAL_ASK);
    ck_assert_int_eq(list.items[2].approval, TOOL_APPROVAL_NEVER);
    ck_assert_ptr_null(tool_list_find(&list, "jira"));
    tool_list_clear(&list);
    must_read("[]", &list);
    ck_assert_uint_eq(list.count, 0);
}
END_TEST

static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"{}", "context: /tools: must be an array"},
    {"[1]", "context: /tools/0: must be an object"},
    {"[{" SCHEMA "}]", "context: /tools/0/name: missing"},
    {"[{\"name\":\"a\"}]", "context: /tools/0/input_schema: missing"},
    {"[{\"name\":\"\"," SCHEMA "}]", "context: /tools/0/name: must not be empty"},
    {"[{\"name\":\"a\\n\"," SCHEMA "}]",
     "context: /tools/0/name: must not hold control characters"},
    {"[{\"name\":\"a*\"," SCHEMA "}]", "context: /tools/0/name: must not hold \"*\""},
    {"[{\"name\":\"a\",\"input_schema\":[]}]", "context: /tools/0/input_schema: must be an object"},
    {"[{\"name\":\"a\",\"output_schema\":null," SCHEMA "}]",
     "context: /tools/0/output_schema: must be an object"},
    {"[{\"name\":\"a\",\"title\":\"\\u001b\"," SCHEMA "}]",
     "context: /tools/0/title: must not hold control characters"},
    {"[{\"name\":\"a\",\"approval\":\"maybe\"," SCHEMA "}]",
     "context: /tools/0/approval: must be ask, never or always_ask"},
    {"[{\"name\":\"a\",\"aproval\":\"never\"," SCHEMA "}]",
     "context: /tools/0/aproval: unknown member"},
    {"[{\"name\":\"a\"," SCHEMA "},{\"name\":\"b\"," SCHEMA "},{\"name\":\"a\"," SCHEMA "}]",
     "context: /tools/2/name: another tool has this name"},
};

START_TEST(refuses)
{
    CLEANUP(tool_list_clear) struct tool_list list = {0};
    struct error error;
    ck_assert(!read_tools(refused[_i].text, &list, &error));
    ck_assert_str_eq(error.message, refused[_i].message);
}
END_TEST

/* A list of so many tools "t0", "t1" and so on, new. */
static char *many_tools(size_t count)
{
    char *text = malloc(64 * count + 3);
    char *at = stpcpy(text, "[");
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, "%s{\"name\":\"t%zu\"," SCHEMA "}", i > 0 ? "," : "", i);
    (void)stpcpy(at, "]");
    return text;
}

START_TEST(bounds)
{
    CLEANUP(tool_list_clear) struct tool_list most = {0};
    CLEANUP(tool_list_clear) struct tool_list more = {0};
    struct error error;
    CLEANUP_FREE char *good = many_tools(TOOL_LIST_LIMIT);
    CLEANUP_FREE char *bad = many_tools(TOOL_LIST_LIMIT + 1);
    must_read(good, &most);
    ck_assert(!read_tools(bad, &more, &error));
    ck_assert_str_eq(error.message, "context: /tools: must have at most 256 members");
}
END_TEST

START_TEST(bounds_schema_and_name)
{
    char name[TOOL_NAME_LIMIT + 2];
    static char text[TOOL_SCHEMA_LIMIT + 200];
    struct error error;
    for (size_t more = 0; more < 2; more++) {
        CLEANUP(tool_list_clear) struct tool_list of_name = {0};
        CLEANUP(tool_list_clear) struct tool_list of_schema = {0};
        memset(name, 'n', sizeof(name));
        name[TOOL_NAME_LIMIT + more] = '\0';
        (void)snprintf(text, sizeof(text), "[{\"name\":\"%s\"," SCHEMA "}]", name);
        ck_assert_int_eq(read_tools(text, &of_name, &error), more == 0);
        int around = (int)strlen("{\"a\":\"\"}");
        (void)snprintf(text, sizeof(text), "[{\"name\":\"a\",\"input_schema\":{\"a\":\"%0*d\"}}]",
                       TOOL_SCHEMA_LIMIT - around + (int)more, 0);
        ck_assert_int_eq(read_tools(text, &of_schema, &error), more == 0);
    }
    ck_assert_str_eq(error.message,
                     "context: /tools/0/input_schema: must have at most 65536 bytes");
}
END_TEST

static void digest_of(const char *text, char ret[SHA256_HEX_LENGTH + 1])
{
    CLEANUP(tool_list_clear) struct tool_list list = {0};
    must_read(text, &list);
    memcpy(ret, list.items[0].digest, SHA256_HEX_LENGTH + 1);
}

#define BASE "\"name\":\"a\",\"input_schema\":{\"a\":1.5,\"b\":2}"

START_TEST(makes_digests)
{
    static const char *const same[] = {
        "[{\"input_schema\":{\"b\":2,\"a\":15e-1},\"name\":\"a\"}]",
        "[{" BASE ",\"approval\":\"never\"}]",
    };
    static const char *const other[] = {
        "[{\"name\":\"b\",\"input_schema\":{\"a\":1.5,\"b\":2}}]",
        "[{\"name\":\"a\",\"input_schema\":{\"a\":1.5000000000000002,\"b\":2}}]",
        "[{\"name\":\"a\",\"input_schema\":{\"a\":1.5,\"b\":2.0}}]",
        "[{" BASE ",\"title\":\"\"}]",
        "[{" BASE ",\"description\":\"\"}]",
        "[{" BASE ",\"output_schema\":{}}]",
        "[{" BASE ",\"annotations\":{}}]",
    };
    char digest[SHA256_HEX_LENGTH + 1];
    char again[SHA256_HEX_LENGTH + 1];
    char whole[SHA256_HEX_LENGTH + 1];
    static const char text[] = "{\"input_schema\":{\"a\":1.5,\"b\":2},\"name\":\"a\"}";
    digest_of("[{" BASE "}]", digest);
    sha256_hex(text, strlen(text), whole);
    ck_assert_str_eq(digest, whole);
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        digest_of(same[i], again);
        ck_assert_str_eq(digest, again);
    }
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        digest_of(other[i], again);
        ck_assert_msg(strcmp(digest, again) != 0, "%s", other[i]);
    }
}
END_TEST

static const struct {
    const char *name, *identifier;
} identifiers[] = {
    {"query_database", "query_database"},
    {"server.tool", "server_tool"},
    {"a-b/c d", "a_b_c_d"},
    {"\xC3\xA4", "___"},
    {"7zip", "_7zip"},
    {"class", "_class"},
    {"None", "_None"},
    {"none", "none"},
    {"function", "_function"},
    {"await", "_await"},
    {"ToolError", "_ToolError"},
    {"aio", "_aio"},
    {"names", "_names"},
    {"call", "_call"},
    {"then", "_then"},
    {"__proto__", "___proto__"},
    {"_", "_"},
};

START_TEST(makes_identifiers)
{
    char identifier[TOOL_IDENTIFIER_SIZE];
    tool_identifier_make(identifiers[_i].name, identifier);
    ck_assert_str_eq(identifier, identifiers[_i].identifier);
}
END_TEST

#define TOOL(name) "{\"name\":\"" name "\"," SCHEMA "}"

START_TEST(numbers_identifiers_that_clash)
{
    CLEANUP(tool_list_clear) struct tool_list all = {0};
    CLEANUP(tool_list_clear) struct tool_list chosen = {0};
    struct error error;
    char *patterns[] = {(char[]){"a_b_2"}, (char[]){"a.b"}, (char[]){"a*"}, NULL};
    must_read("[" TOOL("a.b") "," TOOL("a-b") "," TOOL("a_b") "," TOOL("a_b_2") "]", &all);
    ck_assert_msg(tool_list_select(&all, patterns, NULL, &chosen, &error), "%s", error.message);
    ck_assert_uint_eq(chosen.count, 4);
    ck_assert_str_eq(chosen.items[0].identifier, "a_b_2");
    ck_assert_str_eq(chosen.items[1].identifier, "a_b");
    ck_assert_str_eq(chosen.items[2].identifier, "a_b_3");
    ck_assert_str_eq(chosen.items[3].identifier, "a_b_4");
}
END_TEST

START_TEST(numbers_the_longest_names)
{
    CLEANUP(tool_list_clear) struct tool_list all = {0};
    CLEANUP(tool_list_clear) struct tool_list chosen = {0};
    struct error error;
    char *patterns[] = {(char[]){"*"}, NULL};
    char name[TOOL_NAME_LIMIT + 1];
    char text[1024];
    memset(name, '7', TOOL_NAME_LIMIT);
    name[TOOL_NAME_LIMIT] = '\0';
    (void)snprintf(text, sizeof(text),
                   "[{\"name\":\"%s\"," SCHEMA "},{\"name\":\"%.127s-\"," SCHEMA
                   "},{\"name\":\"%.127s.\"," SCHEMA "}]",
                   name, name, name);
    must_read(text, &all);
    ck_assert(tool_list_select(&all, patterns, NULL, &chosen, &error));
    ck_assert_uint_eq(strlen(chosen.items[2].identifier), 1 + TOOL_NAME_LIMIT + 2);
}
END_TEST

START_TEST(selects)
{
    CLEANUP(tool_list_clear) struct tool_list all = {0};
    CLEANUP(tool_list_clear) struct tool_list chosen = {0};
    struct error error;
    char *patterns[] = {(char[]){"jira.*"}, (char[]){"mail"}, (char[]){"jira.b"}, NULL};
    must_read("[" TOOL("mail") "," TOOL("jira.b") "," TOOL("jira") "," TOOL("jira.a") "]", &all);
    ck_assert_msg(tool_list_select(&all, patterns, NULL, &chosen, &error), "%s", error.message);
    ck_assert_uint_eq(chosen.count, 3);
    ck_assert_str_eq(chosen.items[0].name, "jira.b");
    ck_assert_str_eq(chosen.items[1].name, "jira.a");
    ck_assert_str_eq(chosen.items[2].name, "mail");
    ck_assert_str_eq(chosen.items[2].digest, all.items[0].digest);
    ck_assert_str_eq(all.items[0].identifier, "");
    tool_list_clear(&chosen);
    ck_assert(tool_list_select(&all, NULL, NULL, &chosen, &error));
    ck_assert_uint_eq(chosen.count, 0);
}
END_TEST

START_TEST(names_what_there_is)
{
    CLEANUP(tool_list_clear) struct tool_list all = {0};
    CLEANUP(tool_list_clear) struct tool_list none = {0};
    CLEANUP(tool_list_clear) struct tool_list chosen = {0};
    struct error error;
    CLEANUP_FREE char *text = many_tools(12);
    char *patterns[] = {(char[]){"t*"}, (char[]){"u\x1b*"}, NULL};
    must_read(text, &all);
    ck_assert(!tool_list_select(&all, patterns, NULL, &chosen, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_INPUT);
    ck_assert_str_eq(error.message, "request: /tools/1: the gateway has no tool \"u?*\"");
    ck_assert_str_eq(error.hint,
                     "the gateway offers t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more");
    ck_assert_ptr_null(chosen.items);
    ck_assert(!tool_list_select(&none, patterns, NULL, &chosen, &error));
    ck_assert_str_eq(error.hint, "the gateway offers no tools to programs: leave the member out");
}
END_TEST

START_TEST(knows_patterns)
{
    ck_assert(name_pattern_valid("a") && name_pattern_valid("a.*") && name_pattern_valid("*"));
    ck_assert(!name_pattern_valid("a*b") && !name_pattern_valid("**") &&
              !name_pattern_valid("a\n"));
    ck_assert(name_pattern_matches("a.*", "a.b") && name_pattern_matches("a.*", "a.") &&
              name_pattern_matches("*", "a") && name_pattern_matches("a", "a"));
    ck_assert(!name_pattern_matches("a.*", "a") && !name_pattern_matches("a", "ab") &&
              !name_pattern_matches("a*", "ba") && !name_pattern_matches("", "a"));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("reading"), tcase_create("selecting")};
    tcase_add_test(cases[0], reads);
    tcase_add_loop_test(cases[0], refuses, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], bounds);
    tcase_add_test(cases[0], bounds_schema_and_name);
    tcase_add_test(cases[0], makes_digests);
    tcase_add_loop_test(cases[1], makes_identifiers, 0, COUNT_OF(identifiers));
    tcase_add_test(cases[1], numbers_identifiers_that_clash);
    tcase_add_test(cases[1], numbers_the_longest_names);
    tcase_add_test(cases[1], selects);
    tcase_add_test(cases[1], names_what_there_is);
    tcase_add_test(cases[1], knows_patterns);
    return run_suite("tool_definition", cases, COUNT_OF(cases));
}
