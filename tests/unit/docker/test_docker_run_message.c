/* SPDX-License-Identifier: Apache-2.0 */
/* The message with a run, as a container's guest reads it. Single-threaded. */
#include <stdlib.h>
#include <string.h>

#include "backends/guest_runs/container/run_message.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "tap_suite.h"

#define LIST(...)      ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})
#define TEXT(literal)  ((char *)(uintptr_t)(literal))
#define BYTES(literal) .content = (unsigned char *)TEXT(literal), .length = sizeof(literal) - 1

/* The last one is private. */
static struct run_file files[] = {
    {.path = TEXT("a b/it's"), BYTES("x\0y")},
    {.path = TEXT("empty"), BYTES("")},
    {.path = TEXT(".secrets/key"), BYTES("'hunter2'\n")},
};

/* Of the block that it stands in, as the lists are. */
#define DESCRIPTION                                                                             \
    {                                                                                           \
        .argv = LIST("sh", "-c", "it's", "", "\n"),                                             \
        .environment = LIST("A=it's\n", "B=", "PWD=/else"), .files = files,                     \
        .file_count = COUNT_OF(files), .private_file_count = 1, .limits = {.file_bytes = 4096}, \
    }

static bool same(char *const *list, const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!list[i] || strcmp(list[i], wanted[i]) != 0)
            return false;
    return list[count] == NULL;
}

START_TEST(the_guest_reads_what_was_described)
{
    static const char contents[] =
        "\3\0\0\0\0\0\0\0x\0y\0\0\0\0\0\0\0\0\12\0\0\0\0\0\0\0'hunter2'\n"
        "\6\0\0\0\0\0\0\0in\0putend!";
    static const char *const variables[] = {"A=it's\n",           "B=",          "PWD=/else",
                                            "HOME=/home/sandbox", "TMPDIR=/tmp", "USER=sandbox"};
    static const char *const arguments[] = {"sh", "-c", "it's", "", "\n"};
    static const char *const paths[] = {"a b/it's", "empty", ".secrets/key"};
    const struct run_description description = DESCRIPTION;
    struct guest_run run;
    CLEANUP(run_message_clear) struct run_message message;
    ck_assert(run_message_make(&description, (const unsigned char *)"in\0put", 6, &message));
    struct wire_reader reader = {.bytes = message.bytes, .length = message.length};
    uint32_t head = wire_get_u32(&reader);
    ck_assert_uint_eq(message.length, sizeof(head) + head + sizeof(contents) - 1);
    ck_assert_mem_eq(message.bytes + sizeof(head) + head, contents, sizeof(contents) - 1);
    ck_assert_uint_eq(message.gap_count, 0);
    ck_assert(guest_run_read(message.bytes + sizeof(head), head, &run));
    ck_assert_uint_eq(run.file_bytes, 4096);
    ck_assert(!run.trial && run.has_input);
    ck_assert_uint_eq(run.private_file_count, 1);
    ck_assert(same(run.argv, arguments, COUNT_OF(arguments)));
    ck_assert(same(run.environment, variables, COUNT_OF(variables)));
    ck_assert(same(run.paths, paths, COUNT_OF(paths)));
    ck_assert_uint_eq(run.outputs.files, 0);
    guest_run_clear(&run);
}
END_TEST

/* Of a message that is its head alone. */
static void read_run(const struct run_message *message, struct guest_run *ret)
{
    ck_assert(guest_run_read(message->bytes + sizeof(uint32_t),
                             message->length - 2 * sizeof(uint32_t), ret));
}

START_TEST(a_trial_without_input_says_so)
{
    struct run_description description = {.argv = LIST("sh"), .purpose = RUN_PURPOSE_TRIAL};
    struct guest_run run;
    CLEANUP(run_message_clear) struct run_message message;
    ck_assert(run_message_make(&description, (const unsigned char *)"", 0, &message));
    read_run(&message, &run);
    ck_assert(run.trial && !run.has_input && !run.paths[0]);
    guest_run_clear(&run);
}
END_TEST

START_TEST(a_command_of_another_name_than_its_interpreter_s_has_no_runner)
{
    static const struct {
        const char *command;
        uint32_t of_description;
        uint32_t of_run;
    } cases[] = {
        {"python3", RUN_INTERPRETER_PYTHON, RUN_INTERPRETER_PYTHON},
        {"/usr/bin/node", RUN_INTERPRETER_NODE, RUN_INTERPRETER_NODE},
        {"nodejs", RUN_INTERPRETER_NODE, RUN_INTERPRETER_NODE},
        {"node", RUN_INTERPRETER_NONE, RUN_INTERPRETER_NONE},
        {"node", RUN_INTERPRETER_PYTHON, RUN_INTERPRETER_NONE},
        {"python3", RUN_INTERPRETER_NODE, RUN_INTERPRETER_NONE},
        {"/node/bun", RUN_INTERPRETER_NODE, RUN_INTERPRETER_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct run_description description = {
            .argv = LIST(cases[i].command),
            .preparation = {.runner = cases[i].of_description},
        };
        struct guest_run run;
        CLEANUP(run_message_clear) struct run_message message;
        ck_assert(run_message_make(&description, NULL, 0, &message));
        read_run(&message, &run);
        ck_assert_uint_eq(run.runner, cases[i].of_run);
        guest_run_clear(&run);
    }
}
END_TEST

/* Of a session it gets no program: the shell is executed with its options alone. */
START_TEST(a_shell_of_a_session_is_told_without_its_program)
{
    static const char *const words[] = {"bash", "-p", "main.sh", "more"};
    struct run_file program = {.path = TEXT("main.sh"), BYTES("")};
    struct run_description description = {
        .argv = LIST("bash", "-p", "main.sh", "more"),
        .files = &program,
        .file_count = 1,
        .preparation = {.runner = RUN_RUNNER_SHELL, .program_argument = 2},
    };
    for (uint64_t idle_ms = 0; idle_ms < 2; idle_ms++) {
        struct guest_run run;
        CLEANUP(run_message_clear) struct run_message message;
        description.session.idle_ms = idle_ms;
        ck_assert(run_message_make(&description, NULL, 0, &message));
        struct wire_reader reader = {.bytes = message.bytes, .length = message.length};
        uint32_t head = wire_get_u32(&reader);
        ck_assert(guest_run_read(message.bytes + sizeof(head), head, &run));
        ck_assert_uint_eq(run.session, idle_ms);
        ck_assert_uint_eq(run.runner, RUN_RUNNER_SHELL);
        ck_assert(same(run.argv, words, idle_ms ? 2 : COUNT_OF(words)));
        ck_assert(idle_ms ? !run.paths[0] : strcmp(run.paths[0], "main.sh") == 0);
        guest_run_clear(&run);
    }
    for (uint32_t place = 0; place <= 4; place += 4) {
        struct run_message message;
        description.preparation.program_argument = place;
        ck_assert(!run_message_make(&description, NULL, 0, &message));
    }
}
END_TEST

START_TEST(a_program_s_files_are_asked_for_and_a_trial_s_are_not)
{
    static const char *const patterns[] = {"*.c", "d/**"};
    struct run_description description = {
        .argv = LIST("sh"),
        .outputs = {.files = 3, .file_bytes = 5, .total_bytes = 7, .patterns = LIST("*.c", "d/**")},
    };
    for (uint32_t purpose = RUN_PURPOSE_PROGRAM; purpose <= RUN_PURPOSE_TRIAL; purpose++) {
        struct guest_run run;
        CLEANUP(run_message_clear) struct run_message message;
        description.purpose = purpose;
        ck_assert(run_message_make(&description, NULL, 0, &message));
        read_run(&message, &run);
        bool collects = purpose == RUN_PURPOSE_PROGRAM;
        ck_assert(run_message_collects(&description) == collects);
        ck_assert_uint_eq(run.outputs.files, collects ? 3 : 0);
        ck_assert_uint_eq(run.outputs.file_bytes, collects ? 5 : 0);
        ck_assert_uint_eq(run.outputs.total_bytes, collects ? 7 : 0);
        ck_assert(same(run.outputs.patterns, patterns, collects ? COUNT_OF(patterns) : 0));
        guest_run_clear(&run);
    }
}
END_TEST

START_TEST(a_head_with_another_place_for_a_file_is_none)
{
    static const char *const paths[] = {"/a",  "../a", "a/../b", "a//b", "./a",
                                        "a/.", "a/",   "",       ".."};
    struct guest_run run = {.argv = LIST("sh"), .paths = LIST("a", "..b/c")};
    struct guest_run read;
    struct wire_writer good = {.limit = 1000};
    guest_run_write(&good, &run);
    ck_assert(guest_run_read(good.bytes, good.length, &read));
    guest_run_clear(&read);
    free(good.bytes);
    struct wire_writer bad = {.limit = 1000};
    run.paths = LIST("a", paths[_i]);
    guest_run_write(&bad, &run);
    ck_assert(!bad.failed && !guest_run_read(bad.bytes, bad.length, &read));
    free(bad.bytes);
}
END_TEST

START_TEST(a_head_with_more_private_files_than_files_is_none)
{
    struct guest_run run = {.argv = LIST("sh"), .paths = LIST("a"), .private_file_count = 2};
    struct wire_writer head = {.limit = 1000};
    guest_run_write(&head, &run);
    ck_assert(!head.failed && !guest_run_read(head.bytes, head.length, &run));
    free(head.bytes);
}
END_TEST

/* Its length is in the message, and its content comes behind that. */
START_TEST(a_file_by_reference_leaves_a_gap)
{
    struct run_file mixed[] = {
        {.path = TEXT("a"), .length = 1 << 20, .by_reference = true},
        {.path = TEXT("b"), BYTES("xy")},
        {.path = TEXT("c"), .by_reference = true},
    };
    static const char contents[] = "\0\0\x10\0\0\0\0\0"
                                   "\2\0\0\0\0\0\0\0xy"
                                   "\0\0\0\0\0\0\0\0end!";
    struct run_description description = DESCRIPTION;
    CLEANUP(run_message_clear) struct run_message message;
    description.files = mixed;
    description.file_count = COUNT_OF(mixed);
    description.private_file_count = 0;
    ck_assert(run_message_make(&description, NULL, 0, &message));
    size_t head = message.length - (sizeof(contents) - 1);
    ck_assert_mem_eq(message.bytes + head, contents, sizeof(contents) - 1);
    ck_assert_uint_eq(message.gap_count, 2);
    ck_assert_uint_eq(message.gaps[0].offset, head + 8);
    ck_assert_ptr_eq(message.gaps[0].file, &mixed[0]);
    ck_assert_uint_eq(message.gaps[1].offset, head + 26);
    ck_assert_ptr_eq(message.gaps[1].file, &mixed[2]);
}
END_TEST

START_TEST(an_invalid_variable_makes_no_message)
{
    static const char *const names[] = {"A-B=1", "$(id)=1", "1A=1", "=1", "A"};
    struct run_description description = DESCRIPTION;
    struct run_message message;
    description.environment = LIST(names[_i]);
    ck_assert(!run_message_make(&description, NULL, 0, &message));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("message");
    tcase_add_test(cases, the_guest_reads_what_was_described);
    tcase_add_test(cases, a_trial_without_input_says_so);
    tcase_add_test(cases, a_command_of_another_name_than_its_interpreter_s_has_no_runner);
    tcase_add_test(cases, a_shell_of_a_session_is_told_without_its_program);
    tcase_add_test(cases, a_program_s_files_are_asked_for_and_a_trial_s_are_not);
    tcase_add_loop_test(cases, a_head_with_another_place_for_a_file_is_none, 0, 9);
    tcase_add_test(cases, a_head_with_more_private_files_than_files_is_none);
    tcase_add_test(cases, a_file_by_reference_leaves_a_gap);
    tcase_add_loop_test(cases, an_invalid_variable_makes_no_message, 0, 5);
    return run_suite("docker run message", &cases, 1);
}
