/* SPDX-License-Identifier: Apache-2.0 */
/* Which facts of a run make which note; tests/modes/test_notes.py has the runs. */
#include <check.h>

#include "cleanup.h"
#include "run_notes.h"
#include "tap_suite.h"

#define MIB (UINT64_C(1) << 20)

/* A run that gives no reason for a note. */
static const struct run_facts ordinary = {
    .language = "python",
    .cause = RUN_CAUSE_EXIT,
    .memory_bytes = 64 * MIB,
};

/* The one note, "" for none. */
static struct run_note note_of(const struct run_facts *facts)
{
    struct run_note note = {.text = ""};
    size_t count = 0;
    for (size_t rule = 0; rule < run_note_rules(); rule++)
        count += run_note_make(rule, facts, &note);
    ck_assert_msg(count <= 1, "%zu notes, the last one: %s", count, note.text);
    return note;
}

static const struct {
    uint64_t kills;
    enum run_cause cause;
    const char *note;
} memory_cases[] = {
    {1, RUN_CAUSE_EXIT, "a process of the run was killed because the memory limit of 67108864 "},
    {3, RUN_CAUSE_EXIT, "3 processes of the run were killed because the memory limit of 67108864 "},
    {2, RUN_CAUSE_WALL_TIMEOUT, "2 processes of the run were killed because "},
    {2, RUN_CAUSE_MEMORY_LIMIT, ""},
    {0, RUN_CAUSE_WALL_TIMEOUT, ""},
    {RUN_USAGE_UNKNOWN, RUN_CAUSE_WALL_TIMEOUT, ""},
};

START_TEST(killed_children)
{
    struct run_facts facts = ordinary;
    facts.memory_kills = memory_cases[_i].kills;
    facts.cause = memory_cases[_i].cause;
    struct run_note note = note_of(&facts);
    const char *expected = memory_cases[_i].note;
    ck_assert(strncmp(note.text, expected, strlen(expected)) == 0 && !note.text[0] == !expected[0]);
    ck_assert(!note.timeout_hint == !expected[0]);
}
END_TEST

static struct run_facts with_errors(const char *text)
{
    struct run_facts facts = ordinary;
    facts.exit_code = 1;
    run_words_take(text, strlen(text), &facts.errors);
    return facts;
}

START_TEST(a_missing_module)
{
    static char first[] = "numpy";
    static char second[] = "pandas";
    char *modules[] = {first, second, NULL};
    struct run_facts facts = with_errors("ModuleNotFoundError: No module named 'torch'\n");
    ck_assert_str_eq(note_of(&facts).text,
                     "torch is not installed, and a run installs nothing: do without it, or ask "
                     "the operator for it");
    facts.modules = modules;
    ck_assert_str_eq(note_of(&facts).text, "torch is not installed, and a run installs nothing; "
                                           "there are: numpy, pandas");
    facts.exit_code = 0;
    ck_assert_str_eq(note_of(&facts).text, "");
}
END_TEST

START_TEST(words_are_the_end_of_a_stream)
{
    struct run_words words;
    char long_text[2 * RUN_OUTPUT_LIMIT];
    run_words_take(NULL, 0, &words);
    ck_assert_str_eq(words.text, "");
    run_words_take("a\0b\0", 4, &words);
    ck_assert_str_eq(words.text, "a b ");
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = 'y';
    run_words_take(long_text, sizeof(long_text), &words);
    ck_assert_uint_eq(strlen(words.text), RUN_OUTPUT_LIMIT - 1);
    ck_assert_int_eq(words.text[RUN_OUTPUT_LIMIT - 2], 'y');
}
END_TEST

START_TEST(an_ordinary_run_has_none)
{
    ck_assert_str_eq(note_of(&ordinary).text, "");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("run notes");
    tcase_add_test(tests, an_ordinary_run_has_none);
    tcase_add_loop_test(tests, killed_children, 0, COUNT_OF(memory_cases));
    tcase_add_test(tests, a_missing_module);
    tcase_add_test(tests, words_are_the_end_of_a_stream);
    return run_suite("run notes", &tests, 1);
}
