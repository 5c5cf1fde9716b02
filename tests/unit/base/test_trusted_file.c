/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trusted_file: which files on which paths are taken, in a directory of the test's own. Every case
 * is made from one that is taken, by one change. Owners are changed in what fstat() says, so that
 * the test needs no right to change them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trusted_file.h"
#include "tap_suite.h"

int __real_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret);
int __real_fstatat64(int directory, const char *name, struct stat *ret, int flags);
int __wrap_fstatat64(int directory, const char *name, struct stat *ret, int flags);
ssize_t __real_readlinkat(int directory, const char *name, char *target, size_t size);
ssize_t __wrap_readlinkat(int directory, const char *name, char *target, size_t size);
ssize_t __wrap___readlinkat_chk(int directory, const char *name, char *target, size_t size,
                                size_t room); /* where fortified */
int __real_openat64(int directory, const char *name, int flags, ...);
int __wrap_openat64(int directory, const char *name, int flags, ...);

static ino_t somebody_elses; /* the inode whose owner is another; 0: none */
static int status_failure;   /* the call of fstat() that fails, from 1; 0: none */
static bool no_links;        /* links cannot be read */
static const char *no_open;  /* what cannot be opened */
static const char *swapped;  /* a name that becomes a link once it was looked at; NULL: none */

#define SOMEBODY ((uid_t)4711)

static bool i_am_somebody;

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

uid_t __wrap_geteuid(void)
{
    return i_am_somebody ? SOMEBODY : __real_geteuid();
}

static void disown(struct stat *status)
{
    if (somebody_elses != 0 && status->st_ino == somebody_elses)
        status->st_uid = SOMEBODY;
}

int __wrap_fstat64(int fd, struct stat *ret)
{
    if (status_failure > 0 && --status_failure == 0) {
        errno = EIO;
        return -1;
    }
    int result = __real_fstat64(fd, ret);
    disown(ret);
    return result;
}

int __wrap_fstatat64(int directory, const char *name, struct stat *ret, int flags)
{
    int result = __real_fstatat64(directory, name, ret, flags);
    if (result == 0)
        disown(ret);
    if (swapped != NULL && strcmp(name, swapped) == 0) {
        ck_assert_int_eq(renameat(directory, name, directory, "moved"), 0);
        ck_assert_int_eq(symlinkat("moved", directory, name), 0);
    }
    return result;
}

ssize_t __wrap_readlinkat(int directory, const char *name, char *target, size_t size)
{
    errno = EIO;
    return no_links ? -1 : __real_readlinkat(directory, name, target, size);
}

ssize_t __wrap___readlinkat_chk(int directory, const char *name, char *target, size_t size,
                                size_t room)
{
    ck_assert_uint_le(size, room);
    return __wrap_readlinkat(directory, name, target, size);
}

int __wrap_openat64(int directory, const char *name, int flags, ...)
{
    if (no_open != NULL && strcmp(name, no_open) == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_openat64(directory, name, flags);
}

static char root[] = P_tmpdir "/test-trusted-XXXXXX";

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
    char command[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    ck_assert_int_eq(system(command), 0);
}

/* ROOT/a/file, ROOT/a/link -> file, ROOT/to -> a, ROOT/far -> /…/ROOT/a, ROOT/loop -> loop */
static void make(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
    run("cd %s && umask 022 && mkdir a && echo text > a/file && ln -s file a/link && ln -s a to && "
        "ln -s %s/a far && ln -s loop loop && mkfifo a/fifo",
        root, root);
}

static void unmake(void)
{
    run("rm -rf %s", root);
}

static bool opens(const char *below, struct error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", root, below);
    char text[4] = "";
    CLEANUP_CLOSE int fd = trusted_file_open("file", path, ERROR_INVALID_POLICY, error);
    if (fd < 0)
        return false;
    ck_assert_int_eq(read(fd, text, 4), 4);
    ck_assert_int_eq(memcmp(text, "text", 4), 0);
    ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    return true;
}

static void expect_opened(const char *below)
{
    struct error error;
    ck_assert_msg(opens(below, &error), "%s: %s", below, error.message);
}

static void expect_refused(const char *below, const char *message, const char *hint)
{
    struct error error;
    ck_assert_msg(!opens(below, &error), "%s was opened", below);
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_msg(strstr(error.message, message) != NULL, "%s", error.message);
    ck_assert_msg(strstr(error.hint, hint) != NULL, "%s", error.hint);
}

static ino_t inode_of(const char *below)
{
    char path[PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s/%s", root, below);
    ck_assert_int_eq(lstat(path, &status), 0);
    return status.st_ino;
}

static const char *const ways[] = {"a/file",   "a/link",  "to/file",  "far/file",
                                   "far/link", "a//file", "a/./file", "a/../to/../a/file"};

START_TEST(takes_a_file_that_nobody_else_can_change)
{
    expect_opened(ways[_i]);
}
END_TEST

START_TEST(begins_in_the_working_directory)
{
    struct error error;
    ck_assert_int_eq(chdir(root), 0);
    CLEANUP_CLOSE int fd = trusted_file_open("file", "a/file", ERROR_INVALID_POLICY, &error);
    ck_assert_msg(fd >= 0, "%s", error.message);
    run("rm -rf %s", root);
    ck_assert_int_lt(trusted_file_open("file", "a/file", ERROR_INVALID_POLICY, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.message, "no working directory"));
    run("mkdir %s", root);
}
END_TEST

static const struct {
    const char *change, *below, *message, *hint;
} changes[] = {
    {"chmod 0620 a/file", "a/file", "\"file\" can be written by other users", "chmod go-w"},
    {"chmod 0602 a/file", "a/link", "\"file\" can be written by other users", "chmod go-w"},
    {"chmod 0775 a", "a/file", "\"a\" is a directory that other users can write to", "chmod go-w"},
    {"chmod 0757 a", "far/file", "\"a\" is a directory that other users can write to",
     "chmod go-w"},
    {"chmod 0777 .", "a/file", "is a directory that other users can write to", "chmod go-w"},
    {"true", "a", ": not a regular file", ""},
    {"true", "a/file/", "cannot be read: Not a directory", ""},
    {"true", "a/fifo", ": not a regular file", ""},
    {"true", "a/none", "cannot be read: No such file", ""},
    {"true", "none/file", "cannot be read: No such file", ""},
    {"true", "loop", "cannot be read: Too many levels", ""},
};

START_TEST(refuses_what_others_can_change_and_what_is_no_file)
{
    run("cd %s && %s", root, changes[_i].change);
    expect_refused(changes[_i].below, changes[_i].message, changes[_i].hint);
}
END_TEST

START_TEST(a_sticky_directory_is_everybodys_and_yet_safe)
{
    run("chmod 1777 %s", root);
    expect_opened("to/file");
    somebody_elses = inode_of("a");
    expect_refused("a/file", "\"a\" belongs to a user other than root", "chown root");
}
END_TEST

static const struct {
    const char *whose, *below, *message;
} owners[] = {
    {"a/file", "a/file", "\"file\" belongs to a user other than root"},
    {"a", "a/file", "\"a\" belongs to a user other than root"},
    {"to", "to/file", "\"to\" belongs to a user other than root"},
    {"a/link", "a/link", "\"link\" belongs to a user other than root"},
};

START_TEST(refuses_what_is_somebody_elses)
{
    expect_opened(owners[_i].below);
    somebody_elses = inode_of(owners[_i].whose);
    expect_refused(owners[_i].below, owners[_i].message, "chown root");
    i_am_somebody = true;
    if (getuid() == 0) /* else the rest of the path is nobody's either */
        expect_opened(owners[_i].below);
}
END_TEST

START_TEST(refuses_paths_that_are_too_long)
{
    char name[NAME_MAX + 2];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    expect_refused(name, "File name too long", "");
    char path[2 * PATH_MAX];
    memset(path, '/', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    struct error error;
    ck_assert_int_lt(trusted_file_open("file", path, ERROR_INVALID_POLICY, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.message, "File name too long"));
    ck_assert_int_lt(trusted_file_open("file", "", ERROR_INVALID_POLICY, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.message, "No such file"));
    /* A link of 2,000 bytes with as much behind it, and once more. */
    char below[PATH_MAX] = "long";
    while (strlen(below) < 2200)
        (void)strcat(below, "/a");
    run("cd %s && ln -s ./$(printf '%%01999d' 1 | tr 01 /.) long", root);
    expect_refused(below, "File name too long", "");
    below[100] = '\0';
    expect_refused(below, "No such file", "");
}
END_TEST

START_TEST(a_file_whose_status_is_unknown_is_refused)
{
    for (int call = 1; call <= 5; call++) { /* "/", tmp, root, a, file */
        status_failure = call;
        expect_refused("a/file", "fstat: Input/output error", "");
    }
    status_failure = 0;
    no_open = "a";
    expect_refused("a/file", "cannot be read: Permission denied", "");
    no_open = "file";
    expect_refused("a/file", "cannot be read: Permission denied", "");
    no_open = NULL;
    no_links = true;
    expect_refused("to/file", "readlink: Input/output error", "");
}
END_TEST

/* Whoever may change a name between the look and the opening has put a link there. */
START_TEST(a_path_that_became_a_link_is_not_followed)
{
    static const char *const names[] = {"a", "file"};
    static const char *const messages[] = {"cannot be read: Not a directory",
                                           "cannot be read: Too many levels"};
    swapped = names[_i];
    expect_refused("a/file", messages[_i], "");
    swapped = NULL;
    expect_opened("a/file"); /* what is there is as good as before */
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("trusted_file")};
    tcase_add_checked_fixture(cases[0], make, unmake);
    tcase_add_loop_test(cases[0], takes_a_file_that_nobody_else_can_change, 0, COUNT_OF(ways));
    tcase_add_test(cases[0], begins_in_the_working_directory);
    tcase_add_loop_test(cases[0], refuses_what_others_can_change_and_what_is_no_file, 0,
                        COUNT_OF(changes));
    tcase_add_test(cases[0], a_sticky_directory_is_everybodys_and_yet_safe);
    tcase_add_loop_test(cases[0], refuses_what_is_somebody_elses, 0, COUNT_OF(owners));
    tcase_add_test(cases[0], refuses_paths_that_are_too_long);
    tcase_add_test(cases[0], a_file_whose_status_is_unknown_is_refused);
    tcase_add_loop_test(cases[0], a_path_that_became_a_link_is_not_followed, 0, 2);
    return run_suite("trusted_file", cases, COUNT_OF(cases));
}
