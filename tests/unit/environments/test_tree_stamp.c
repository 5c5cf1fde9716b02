/* SPDX-License-Identifier: Apache-2.0 */
/* The stamp of a tree: every change shows in it, and reading does not. One thread. */
#include "environments/tree_stamp.h"
#include "tree.h"

static const struct tree_limits limits = {.bytes = 1000, .inodes = 100};
static char before[SHA256_TEXT_LENGTH + 1];

static void stamp(char ret[SHA256_TEXT_LENGTH + 1])
{
    struct error error = {0};
    ck_assert_msg(tree_stamp(tree_fd, &limits, ret, &error), "%s", error.message);
}

static void setup(void)
{
    tree_make();
    stamp(before);
    tree_await_tick();
}

static void must_be_same(void)
{
    char now[SHA256_TEXT_LENGTH + 1];
    stamp(now);
    ck_assert_str_eq(now, before);
}

static void must_differ(void)
{
    char now[SHA256_TEXT_LENGTH + 1];
    stamp(now);
    ck_assert_str_ne(now, before);
}

START_TEST(reading_leaves_it)
{
    ck_assert_uint_eq(strspn(before, "0123456789abcdef"), SHA256_TEXT_LENGTH);
    must_be_same();
    tree_read();
    must_be_same();
}
END_TEST

START_TEST(a_descriptor_makes_no_difference)
{
    char now[SHA256_TEXT_LENGTH + 1];
    struct error error = {0};
    int other = open(tree_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert(tree_stamp(other, &limits, now, &error));
    ck_assert_str_eq(now, before);
    ck_assert_int_eq(close(other), 0);
}
END_TEST

START_TEST(content_of_same_size_and_time)
{
    struct stat status;
    tree_mode("a/f", 0644);
    int file = openat(tree_fd, "a/f", O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(fstat(file, &status), 0);
    ck_assert_int_eq(write(file, "xyz", 3), 3);
    const struct timespec times[2] = {status.st_atim, status.st_mtim};
    ck_assert_int_eq(futimens(file, times), 0);
    ck_assert_int_eq(close(file), 0);
    tree_mode("a/f", 0444);
    must_differ();
}
END_TEST

START_TEST(a_file_more)
{
    tree_mode("b", 0755);
    tree_file("b/new", "", 0444);
    tree_mode("b", 0555);
    must_differ();
}
END_TEST

START_TEST(a_file_less)
{
    tree_mode(".", 0755);
    ck_assert_int_eq(unlinkat(tree_fd, "a-b", 0), 0);
    tree_mode(".", 0555);
    must_differ();
}
END_TEST

START_TEST(a_file_in_the_place_of_another)
{
    tree_mode(".", 0755);
    tree_file("other", "abc", 0444);
    ck_assert_int_eq(renameat(tree_fd, "other", tree_fd, "a-b"), 0);
    tree_mode(".", 0555);
    must_differ();
}
END_TEST

START_TEST(a_mode)
{
    tree_mode("a/f", 0555);
    must_differ();
    tree_mode("a/f", 0444);
    must_differ(); /* that there was something is seen */
}
END_TEST

START_TEST(a_link_to_something_else)
{
    tree_mode("a", 0755);
    ck_assert_int_eq(unlinkat(tree_fd, "a/l", 0), 0);
    ck_assert_int_eq(symlinkat("g", tree_fd, "a/l"), 0);
    tree_mode("a", 0555);
    must_differ();
}
END_TEST

START_TEST(a_directory_that_became_a_link)
{
    tree_mode(".", 0755);
    ck_assert_int_eq(renameat(tree_fd, "a", tree_fd, "c"), 0);
    ck_assert_int_eq(symlinkat("c", tree_fd, "a"), 0);
    tree_mode(".", 0555);
    must_differ();
}
END_TEST

START_TEST(another_name_of_a_file)
{
    tree_mode("b", 0755);
    ck_assert_int_eq(linkat(tree_fd, "a/f", tree_fd, "b/f", 0), 0);
    must_differ();
    ck_assert_int_eq(unlinkat(tree_fd, "b/f", 0), 0);
}
END_TEST

/* The whole error. */
static void must_fail(const struct tree_limits *most, const char *message)
{
    char now[SHA256_TEXT_LENGTH + 1] = "untouched";
    struct error error = {0};
    ck_assert(!tree_stamp(tree_fd, most, now, &error));
    ck_assert_str_eq(error.message, message);
    ck_assert_int_eq(error.code, ERROR_INTERNAL);
    ck_assert_str_eq(now, "untouched");
}

START_TEST(limits_are_met_exactly)
{
    char now[SHA256_TEXT_LENGTH + 1];
    struct error error = {0};
    const struct tree_limits exact = {.bytes = 6, .inodes = 6};
    const struct tree_limits bytes = {.bytes = 5, .inodes = 6};
    const struct tree_limits inodes = {.bytes = 6, .inodes = 5};
    ck_assert_msg(tree_stamp(tree_fd, &exact, now, &error), "%s", error.message);
    must_fail(&bytes, "a-b: all files together have more bytes than allowed");
    must_fail(&inodes, "a: there are more files and directories than allowed");
}
END_TEST

START_TEST(other_kinds_of_files)
{
    tree_mode("b", 0755);
    ck_assert_int_eq(mkfifoat(tree_fd, "b/pipe", 0444), 0);
    must_fail(&limits, "b/pipe: it is neither file, directory nor symbolic link");
    ck_assert_int_eq(unlinkat(tree_fd, "b/pipe", 0), 0);
    must_differ();
}
END_TEST

START_TEST(names)
{
    static const char *const bad[] = {"b/\xff", "b/a\nb", "b/\x7f", "b/\xc2\x85"};
    tree_mode("b", 0755);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char now[SHA256_TEXT_LENGTH + 1];
        struct error error = {0};
        tree_file(bad[i], "", 0444);
        ck_assert(!tree_stamp(tree_fd, &limits, now, &error));
        ck_assert_ptr_nonnull(strstr(error.message, "control characters, or is not UTF-8"));
        ck_assert_int_eq(unlinkat(tree_fd, bad[i], 0), 0);
    }
    tree_file("b/\xc2\xa0\xe2\x82\xac", "", 0444);
    must_differ();
}
END_TEST

/* Below the top: so many directories in each other, and one more. */
START_TEST(directories_in_each_other)
{
    tree_mode("b", 0755);
    int directory = openat(tree_fd, "b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned depth = 1; depth < TREE_DEPTH_LIMIT; depth++) {
        ck_assert_int_eq(mkdirat(directory, "d", 0755), 0);
        int next = openat(directory, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_eq(close(directory), 0);
        directory = next;
    }
    must_differ();
    ck_assert_int_eq(mkdirat(directory, "d", 0755), 0);
    ck_assert_int_eq(close(directory), 0);
    char now[SHA256_TEXT_LENGTH + 1];
    struct error error = {0};
    ck_assert(!tree_stamp(tree_fd, &limits, now, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "more directories in each other than allowed"));
}
END_TEST

START_TEST(no_directory)
{
    char now[SHA256_TEXT_LENGTH + 1];
    struct error error = {0};
    int file = openat(tree_fd, "a-b", O_RDONLY | O_CLOEXEC);
    ck_assert(!tree_stamp(file, &limits, now, &error));
    ck_assert_str_eq(error.message, "it is no directory");
    ck_assert_int_eq(close(file), 0);
    ck_assert(!tree_stamp(-1, &limits, now, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "cannot be read"));
}
END_TEST

START_TEST(another_owner)
{
    if (geteuid() != 0)
        return; /* root alone can give files away */
    ck_assert_int_eq(fchownat(tree_fd, "a/f", 64999, (gid_t)-1, 0), 0);
    must_fail(&limits, "a/f: it belongs to another user than the directory of packages");
    ck_assert_int_eq(fchownat(tree_fd, "a/f", 0, (gid_t)-1, 0), 0);
    must_differ();
}
END_TEST

int main(void)
{
    TCase *stamps = tcase_create("stamp");
    tcase_add_checked_fixture(stamps, setup, tree_remove);
    tcase_add_test(stamps, reading_leaves_it);
    tcase_add_test(stamps, a_descriptor_makes_no_difference);
    tcase_add_test(stamps, content_of_same_size_and_time);
    tcase_add_test(stamps, a_file_more);
    tcase_add_test(stamps, a_file_less);
    tcase_add_test(stamps, a_file_in_the_place_of_another);
    tcase_add_test(stamps, a_mode);
    tcase_add_test(stamps, a_link_to_something_else);
    tcase_add_test(stamps, a_directory_that_became_a_link);
    tcase_add_test(stamps, another_name_of_a_file);
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, setup, tree_remove);
    tcase_add_test(refusals, limits_are_met_exactly);
    tcase_add_test(refusals, other_kinds_of_files);
    tcase_add_test(refusals, names);
    tcase_add_test(refusals, directories_in_each_other);
    tcase_add_test(refusals, no_directory);
    tcase_add_test(refusals, another_owner);
    TCase *const cases[] = {stamps, refusals};
    return run_suite("tree stamp", cases, COUNT_OF(cases));
}
