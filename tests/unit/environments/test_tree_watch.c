/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of a tree: every change is told, reading is not, and where there is none to be had,
 * that is told too. One thread. */
#include "environments/tree_watch.h"
#include "tree.h"

static const struct tree_limits limits = {.bytes = 1000, .inodes = 100};
static struct tree_watch watch = TREE_WATCH_NONE;

static void setup(void)
{
    tree_make();
    ck_assert(tree_watch_begin(tree_fd, &limits, &watch));
    ck_assert(tree_watch_is_quiet(&watch, tree_fd));
}

static void teardown(void)
{
    tree_watch_end(&watch);
    ck_assert_int_eq(watch.fd, -1);
    tree_remove();
}

/* And it stays so, whoever asks again. */
static void must_tell(void)
{
    ck_assert(!tree_watch_is_quiet(&watch, tree_fd));
    ck_assert(!tree_watch_is_quiet(&watch, tree_fd));
}

START_TEST(reading_is_quiet)
{
    tree_read();
    ck_assert(tree_watch_is_quiet(&watch, tree_fd));
}
END_TEST

START_TEST(another_directory_is_not_the_one)
{
    int other = openat(tree_fd, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int same = open(tree_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert(!tree_watch_is_quiet(&watch, other));
    ck_assert(!tree_watch_is_quiet(&watch, -1));
    ck_assert(tree_watch_is_quiet(&watch, same));
    ck_assert_int_eq(close(other), 0);
    ck_assert_int_eq(close(same), 0);
}
END_TEST

START_TEST(content)
{
    int file = openat(tree_fd, "a/f", O_WRONLY | O_CLOEXEC);
    if (file < 0) { /* not root */
        tree_mode("a/f", 0644);
        must_tell();
        return;
    }
    ck_assert(tree_watch_is_quiet(&watch, tree_fd));
    ck_assert_int_eq(write(file, "xyz", 3), 3);
    must_tell();
    ck_assert_int_eq(close(file), 0);
}
END_TEST

/* Its pages are written to without a system call. It is told once they are no longer mapped. */
START_TEST(content_through_memory)
{
    tree_mode("a/f", 0644);
    tree_watch_end(&watch);
    ck_assert(tree_watch_begin(tree_fd, &limits, &watch));
    int file = openat(tree_fd, "a/f", O_RDWR | O_CLOEXEC);
    char *mapped = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    mapped[0] = 'x';
    ck_assert_int_eq(close(file), 0);
    ck_assert_int_eq(munmap(mapped, 3), 0);
    must_tell();
}
END_TEST

START_TEST(a_mode)
{
    tree_mode("a/f", 0555);
    must_tell();
}
END_TEST

START_TEST(times)
{
    const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
    ck_assert_int_eq(utimensat(tree_fd, "a/run", now, 0), 0);
    must_tell();
}
END_TEST

/* Watched anew, with the mode that a change needs. */
static void open_up(const char *directory)
{
    tree_mode(directory, 0755);
    tree_watch_end(&watch);
    ck_assert(tree_watch_begin(tree_fd, &limits, &watch));
}

START_TEST(a_file_more)
{
    open_up("b");
    tree_file("b/new", "", 0444);
    must_tell();
}
END_TEST

START_TEST(a_file_less)
{
    open_up(".");
    ck_assert_int_eq(unlinkat(tree_fd, "a-b", 0), 0);
    must_tell();
}
END_TEST

START_TEST(a_link_more)
{
    open_up("a");
    ck_assert_int_eq(symlinkat("g", tree_fd, "a/m"), 0);
    must_tell();
}
END_TEST

START_TEST(another_name)
{
    open_up(".");
    ck_assert_int_eq(renameat(tree_fd, "a", tree_fd, "c"), 0);
    must_tell();
}
END_TEST

START_TEST(what_cannot_be_watched_is_not)
{
    struct tree_watch none = {.fd = -2};
    const struct tree_limits few = {.bytes = 1000, .inodes = 5};
    int file = openat(tree_fd, "a-b", O_RDONLY | O_CLOEXEC);
    ck_assert(!tree_watch_begin(tree_fd, &few, &none));
    ck_assert(!tree_watch_begin(file, &limits, &none));
    ck_assert_int_eq(none.fd, -2); /* untouched */
    ck_assert_int_eq(close(file), 0);
    none.fd = -1;
    ck_assert(!tree_watch_is_quiet(&none, tree_fd));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("watch")};
    tcase_add_checked_fixture(cases[0], setup, teardown);
    tcase_add_test(cases[0], reading_is_quiet);
    tcase_add_test(cases[0], another_directory_is_not_the_one);
    tcase_add_test(cases[0], content);
    tcase_add_test(cases[0], content_through_memory);
    tcase_add_test(cases[0], a_mode);
    tcase_add_test(cases[0], times);
    tcase_add_test(cases[0], a_file_more);
    tcase_add_test(cases[0], a_file_less);
    tcase_add_test(cases[0], a_link_more);
    tcase_add_test(cases[0], another_name);
    tcase_add_test(cases[0], what_cannot_be_watched_is_not);
    return run_suite("tree watch", cases, COUNT_OF(cases));
}
