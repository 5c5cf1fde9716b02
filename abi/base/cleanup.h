/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope-bound ownership for all of our programs: a variable marked with one of these attributes
 * releases what it holds when it goes out of scope; TAKE_POINTER and TAKE_FD hand it over instead.
 * jansson has the same for its values: json_auto_t. Runs in every process of ours, on any thread.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

/* Keeps errno, so that the error being returned is the one that is seen. */
static inline void close_fd(int fd)
{
    if (fd < 0)
        return;
    int saved = errno;
    (void)close(fd); /* Linux closes even on EINTR: see close(2) */
    errno = saved;
}

static inline void cleanup_fd(const int *fd)
{
    close_fd(*fd);
}

static inline void cleanup_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#define CLEANUP_FREE      __attribute__((cleanup(cleanup_free)))
#define CLEANUP_CLOSE     __attribute__((cleanup(cleanup_fd)))
#define CLEANUP_FILE      __attribute__((cleanup(cleanup_file)))
#define CLEANUP(function) __attribute__((cleanup(function)))

#define TAKE_FD(fd) take_fd(&(fd))
#define TAKE_POINTER(pointer)                   \
    ({                                          \
        __typeof__(pointer) taken_ = (pointer); \
        (pointer) = NULL;                       \
        taken_;                                 \
    })

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
