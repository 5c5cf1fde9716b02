/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bootstrap's message, and what this machine's own shell makes of it by the script's functions,
 * in a directory of the test's own. Single-threaded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/docker/container/bootstrap.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define LIST(...)      ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})
#define TEXT(literal)  ((char *)(uintptr_t)(literal))
#define BYTES(literal) .content = (unsigned char *)TEXT(literal), .length = sizeof(literal) - 1

/* The last two are private. */
static struct run_file files[] = {
    {.path = TEXT("a b/it's"), BYTES("x\0y")},
    {.path = TEXT("text"), BYTES("it's\n$(id)\n")},
    {.path = TEXT("empty"), BYTES("")},
    {.path = TEXT(".secrets/key"), BYTES("'hunter2'\n")},
    {.path = TEXT(".secrets/two/binary"), BYTES("z\0\n")},
};

#define SHOW "printf '%s|' \"$0\" \"$@\" \"$A\" \"$B\" \"$C\" \"$HOME\""

/* Of the block that it stands in, as the lists are. */
#define DESCRIPTION                                                                             \
    {                                                                                           \
        .argv = LIST("sh", "-c", SHOW, "sh", "it's", "$(id)", "-n", "\n"),                      \
        .environment = LIST("A=it's '$(id)' \"`id`\"", "B=two\nlines\n", "C="), .files = files, \
        .file_count = COUNT_OF(files), .private_file_count = 2,                                 \
    }

/* Ends with the contents that are not in the text, in order, and nothing between them. */
START_TEST(the_text_is_followed_by_the_announced_bytes)
{
    static const char contents[] = "x\0yz\0\nin\0put";
    const size_t contents_length = sizeof(contents) - 1;
    const struct run_description description = DESCRIPTION;
    size_t length = 0;
    CLEANUP_FREE unsigned char *message =
        bootstrap_message(&description, (const unsigned char *)"in\0put", 6, &length);
    ck_assert_ptr_nonnull(message);
    ck_assert_mem_eq(message + length - contents_length, contents, contents_length);
    size_t announced = strtoul((const char *)message, NULL, 10);
    const unsigned char *text = (const unsigned char *)strchr((const char *)message, '\n') + 1;
    ck_assert_ptr_eq(text + announced, message + length - contents_length);
    ck_assert_ptr_nonnull(memmem(text, announced, "put 'a b/it'\\''s' 3\n", 20));
    ck_assert_ptr_nonnull(memmem(text, announced, "ce_text 'text' 'it'\\''s\n$(id)\n'\n", 31));
    ck_assert_ptr_nonnull(memmem(text, announced, "input 6\n", 8));
    ck_assert_ptr_nonnull(memmem(text, announced, " 'HOME=/home/sandbox' ", 22));
}
END_TEST

/* The plugin refuses such a request; a backend does not count on it. */
START_TEST(a_file_by_reference_makes_no_message)
{
    struct run_file by_reference = {.path = TEXT("a"), .length = 1 << 20, .by_reference = true};
    struct run_description description = DESCRIPTION;
    size_t length = 0;
    description.files = &by_reference;
    description.file_count = 1;
    description.private_file_count = 0;
    ck_assert_ptr_null(bootstrap_message(&description, NULL, 0, &length));
}
END_TEST

START_TEST(an_invalid_variable_makes_no_message)
{
    static const char *const names[] = {"A-B=1", "$(id)=1", "1A=1", "=1", "A"};
    struct run_description description = DESCRIPTION;
    size_t length = 0;
    description.environment = LIST(names[_i]);
    ck_assert_ptr_null(bootstrap_message(&description, NULL, 0, &length));
}
END_TEST

static char directory[] = P_tmpdir "/test-bootstrap-XXXXXX";

static void make_directory(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
}

static void remove_directory(void)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

static void write_whole(const char *path, const void *bytes, size_t length)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
}

/* The script from its functions on, up to what starts something; then what becomes of the
 * message.
 */
static void write_script(void)
{
    static const char begin[] = "set -f\numask 022\n";
    static const char end[] = "IFS= read -r ce_length || exit 1\n"
                              "ce_text=$(ce_take \"$ce_length\") || exit 1\n"
                              "eval \"$ce_text\"\n"
                              "exec 4>/dev/null\n"
                              "(ce_start \"$@\")\n"
                              "umask\n";
    const char *functions = strstr(bootstrap_script, "ce_take() ");
    const char *others = strstr(bootstrap_script, "exec 3</dev/null\n");
    char script[8192];
    ck_assert(functions != NULL && others > functions);
    int length = snprintf(script, sizeof(script), "%s%.*s%s", begin, (int)(others - functions),
                          functions, end);
    ck_assert_int_lt(length, (int)sizeof(script));
    write_whole("script", script, (size_t)length);
}

static void expect_file(const struct run_file *file, mode_t mode)
{
    char bytes[64];
    struct stat status;
    ck_assert_int_eq(stat(file->path, &status), 0);
    ck_assert_msg((status.st_mode & 07777) == mode, "%s: %o", file->path, status.st_mode);
    CLEANUP_CLOSE int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(read(fd, bytes, sizeof(bytes)), (ssize_t)file->length);
    ck_assert_int_eq(memcmp(bytes, file->content, file->length), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_mode & 07777;
}

START_TEST(a_shell_reads_the_message_as_intended)
{
    static const char told[] = "+\nsh|it's|$(id)|-n|\n|it's '$(id)' \"`id`\"|two\nlines\n||"
                               "/home/sandbox|0022\n";
    const struct run_description description = DESCRIPTION;
    char output[512] = "";
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = bootstrap_message(&description, NULL, 0, &length);
    write_whole("message", message, length);
    write_script();
    FILE *shell = popen("exec sh ./script <message", "re");
    ck_assert_ptr_nonnull(shell);
    ck_assert_uint_gt(fread(output, 1, sizeof(output) - 1, shell), 0);
    ck_assert_int_eq(pclose(shell), 0);
    ck_assert_str_eq(output, told);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        expect_file(&files[i], i < 3 ? 0644 : 0400);
    ck_assert_uint_eq(mode_of("a b"), 0755);
    ck_assert_uint_eq(mode_of(".secrets"), 0700);
    ck_assert_uint_eq(mode_of(".secrets/two"), 0700);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("message"), tcase_create("shell")};
    tcase_add_test(cases[0], the_text_is_followed_by_the_announced_bytes);
    tcase_add_test(cases[0], a_file_by_reference_makes_no_message);
    tcase_add_loop_test(cases[0], an_invalid_variable_makes_no_message, 0, 5);
    tcase_add_checked_fixture(cases[1], make_directory, remove_directory);
    tcase_add_test(cases[1], a_shell_reads_the_message_as_intended);
    return run_suite("docker bootstrap", cases, COUNT_OF(cases));
}
