/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of packages in a directory of the test's own, as an installation leaves it. One thread. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tap_suite.h"

static char tree_directory[] = "/tmp/environment-tree-XXXXXX";
static int tree_fd = -1;

static inline void tree_file(const char *path, const char *text, mode_t mode)
{
    int file = openat(tree_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(file, mode), 0);
    ck_assert_int_eq(close(file), 0);
}

static inline void tree_mode(const char *path, mode_t mode)
{
    ck_assert_int_eq(fchmodat(tree_fd, path, mode, 0), 0);
}

/* All that can be had of it without a change. */
static inline void tree_read(void)
{
    char bytes[16];
    int file = openat(tree_fd, "a/f", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(read(file, bytes, sizeof(bytes)), 3);
    void *mapped = mmap(NULL, 3, PROT_READ, MAP_PRIVATE, file, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    ck_assert_int_eq(*(char *)mapped, 'a');
    ck_assert_int_eq(munmap(mapped, 3), 0);
    ck_assert_int_eq(close(file), 0);
    ck_assert_int_eq(readlinkat(tree_fd, "a/l", bytes, sizeof(bytes)), 1);
    ck_assert_int_eq(faccessat(tree_fd, "b", R_OK | X_OK, 0), 0);
}

/* a/f, a/run, a/l -> f, a-b, and the empty directory b */
static inline void tree_make(void)
{
    (void)memcpy(tree_directory + sizeof(tree_directory) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(tree_directory));
    tree_fd = open(tree_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(tree_fd, 0);
    ck_assert_int_eq(mkdirat(tree_fd, "a", 0700), 0);
    ck_assert_int_eq(mkdirat(tree_fd, "b", 0700), 0);
    tree_file("a/f", "abc", 0444);
    tree_file("a/run", "", 0555);
    tree_file("a-b", "abc", 0444);
    ck_assert_int_eq(symlinkat("f", tree_fd, "a/l"), 0);
    tree_mode("a", 0555);
    tree_mode("b", 0555);
    tree_mode(".", 0555);
}

static inline void tree_remove(void)
{
    char command[128];
    (void)close(tree_fd);
    (void)snprintf(command, sizeof(command), "chmod -R u+w %s && rm -rf %s", tree_directory,
                   tree_directory);
    ck_assert_int_eq(system(command), 0);
}

/* Until a change has another time than those before: the kernel's clock for files has ticks. */
static inline void tree_await_tick(void)
{
    struct stat first;
    struct stat now;
    char path[] = "/tmp/environment-tick-XXXXXX";
    int probe = mkstemp(path);
    ck_assert_int_ge(probe, 0);
    ck_assert_int_eq(fstat(probe, &first), 0);
    do {
        ck_assert_int_eq(fchmod(probe, 0600), 0);
        ck_assert_int_eq(fstat(probe, &now), 0);
    } while (now.st_ctim.tv_sec == first.st_ctim.tv_sec &&
             now.st_ctim.tv_nsec == first.st_ctim.tv_nsec);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(close(probe), 0);
}
