/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the system and allocations that fail when their turn comes, for a test that is linked
 * with --wrap for each of them (meson.build) and includes this once. Single-threaded test process.
 */
#pragma once

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

static bool counting;
static long until_failure; /* calls that still go through */
static bool has_failed;
static int error_number;
static long live;       /* blocks not freed */
static long clock_step; /* seconds that pass between two looks at the clock */
static time_t clock_offset;

static bool parsing; /* jansson 2.14 survives a failure there only if all others fail too */
static bool failed_parsing;

static bool fails(void)
{
    if (!counting)
        return false;
    if (until_failure-- != 0 && !failed_parsing)
        return false;
    has_failed = true;
    failed_parsing = parsing;
    errno = error_number;
    return true;
}

static bool no_memory(bool is_new)
{
    if (fails())
        return true;
    live += counting && is_new;
    return false;
}

#define WRAPPED(result, name, parameters, arguments, failure) \
    result __real_##name parameters;                          \
    result __wrap_##name parameters;                          \
    result __wrap_##name parameters                           \
    {                                                         \
        return fails() ? (failure) : __real_##name arguments; \
    }
#define ALLOCATING(result, name, parameters, arguments, is_new)    \
    result __real_##name parameters;                               \
    result __wrap_##name parameters;                               \
    result __wrap_##name parameters                                \
    {                                                              \
        return no_memory(is_new) ? NULL : __real_##name arguments; \
    }

ALLOCATING(void *, malloc, (size_t size), (size), true)
ALLOCATING(void *, calloc, (size_t count, size_t size), (count, size), true)
ALLOCATING(void *, reallocarray, (void *block, size_t count, size_t size), (block, count, size),
           block == NULL)
ALLOCATING(char *, strdup, (const char *text), (text), true)
WRAPPED(int, fstat64, (int fd, struct stat64 *status), (fd, status), -1)
WRAPPED(int, flock, (int fd, int operation), (fd, operation), -1)
WRAPPED(ssize_t, pread64, (int fd, void *bytes, size_t size, off64_t offset),
        (fd, bytes, size, offset), error_number != 0 ? -1 : 0)
WRAPPED(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size), -1)
WRAPPED(int, ftruncate64, (int fd, off64_t size), (fd, size), -1)
WRAPPED(int, link, (const char *from, const char *to), (from, to), -1)
WRAPPED(int, rename, (const char *from, const char *to), (from, to), -1)
WRAPPED(int, unlink, (const char *path), (path), -1)
WRAPPED(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAPPED(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
WRAPPED(int, ferror, (FILE * file), (file), 1)

static int device_changes_at; /* which of the next calls is the first that says another; 0: none */

int __real_lstat64(const char *path, struct stat64 *status);
int __wrap_lstat64(const char *path, struct stat64 *status);
int __wrap_lstat64(const char *path, struct stat64 *status)
{
    if (fails())
        return -1;
    int result = __real_lstat64(path, status);
    status->st_dev += device_changes_at == 1;
    device_changes_at -= device_changes_at > 1;
    return result;
}

static bool on_disk; /* what was written last */

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    on_disk = false;
    return fails() ? -1 : __real_write(fd, bytes, size);
}

/* Thousands of times: without the disk where they succeed. */
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    (void)fd;
    on_disk = !fails();
    return on_disk ? 0 : -1;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return fails() ? -1 : 0;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    return fails() ? -1 : __real_open64(path, flags, 0600);
}

__attribute__((format(printf, 2, 0))) static int allocate_text(char **ret_text, const char *format,
                                                               va_list arguments)
{
    return no_memory(true) ? -1 : vasprintf(ret_text, format, arguments);
}

__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **ret_text, const char *format, ...);
int __wrap_asprintf(char **ret_text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = allocate_text(ret_text, format, arguments);
    va_end(arguments);
    return length;
}

__attribute__((format(printf, 3, 4))) int __wrap___asprintf_chk(char **ret_text, int flag,
                                                                const char *format, ...);
int __wrap___asprintf_chk(char **ret_text, int flag, const char *format, ...)
{
    (void)flag;
    va_list arguments;
    va_start(arguments, format);
    int length = allocate_text(ret_text, format, arguments);
    va_end(arguments);
    return length;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    live -= counting && block != NULL;
    __real_free(block);
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int result = __real_clock_gettime(clock, ret);
    clock_offset += clock == CLOCK_MONOTONIC ? clock_step : 0;
    ret->tv_sec += clock == CLOCK_MONOTONIC ? clock_offset : 0;
    return result;
}

#define PARSING(name, parameters, arguments)     \
    json_t *__real_##name parameters;            \
    json_t *__wrap_##name parameters;            \
    json_t *__wrap_##name parameters             \
    {                                            \
        parsing = true;                          \
        json_t *value = __real_##name arguments; \
        parsing = false;                         \
        failed_parsing = false;                  \
        return value;                            \
    }
PARSING(json_loads, (const char *text, size_t flags, json_error_t *error), (text, flags, error))
PARSING(json_loadb, (const char *text, size_t length, size_t flags, json_error_t *error),
        (text, length, flags, error))
