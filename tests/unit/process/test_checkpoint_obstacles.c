/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps a checkpoint from being made is seen by the kernel's quick answers, and by its lists
 * where it has none of these. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/sandbox/checkpoint_obstacles.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static bool is_old; /* the kernel answers nothing quickly */

int __real_stat64(const char *path, struct stat *status);
int __wrap_stat64(const char *path, struct stat *status);
int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

/* As before Linux 6.2; a directory of the kernel's may have any number of links. */
int __wrap_stat64(const char *path, struct stat *status)
{
    int result = __real_stat64(path, status);
    if (result == 0 && is_old) {
        status->st_size = 0;
        status->st_nlink = 1;
    }
    return result;
}

/* As before Linux 6.11. */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
    if (!is_old)
        return __real_ioctl(fd, request, argument);
    errno = ENOTTY;
    return -1;
}

static void *wait_for_end(void *pipe_end)
{
    char byte;
    (void)!read(*(int *)pipe_end, &byte, 1);
    return NULL;
}

static void expect(enum checkpoint_word wanted, int descriptors)
{
    for (int old = 0; old < 2; old++) {
        is_old = old;
        ck_assert_str_eq(checkpoint_word_name(checkpoint_find_obstacle(descriptors, 0, false)),
                         checkpoint_word_name(wanted));
    }
    is_old = false;
}

START_TEST(obstacles_are_seen)
{
    pthread_t thread;
    int ends[2];
    int descriptors = checkpoint_count_descriptors();
    is_old = true;
    ck_assert_int_eq(checkpoint_count_descriptors(), descriptors);
    expect(CHECKPOINT_TAKEN, descriptors);

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    expect(CHECKPOINT_DESCRIPTORS, descriptors);
    expect(CHECKPOINT_TAKEN, descriptors + 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_end, &ends[0]), 0);
    expect(CHECKPOINT_THREADS, descriptors + 2);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(write(ends[1], "", 1), 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect(CHECKPOINT_PROCESSES, descriptors + 2);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close_fd(ends[0]);
    close_fd(ends[1]);
    expect(CHECKPOINT_TAKEN, descriptors);

    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    expect(CHECKPOINT_SHARED_MEMORY, descriptors);
    ck_assert_int_eq(mprotect(shared, 4096, PROT_READ), 0);
    expect(CHECKPOINT_TAKEN, descriptors);
    ck_assert_int_eq(munmap(shared, 4096), 0);
    expect(CHECKPOINT_TAKEN, descriptors);
    expect(CHECKPOINT_DESCRIPTORS, -1);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("checkpoint obstacles");
    tcase_add_test(cases, obstacles_are_seen);
    return run_suite("checkpoint obstacles", &cases, 1);
}
