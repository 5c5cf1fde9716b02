/* SPDX-License-Identifier: Apache-2.0 */
/* A probe's files: see probe_files.h. On the thread of the call. */
#include "conformance/probe_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "tool_provider.h"

static int make_regular(void)
{
    CLEANUP_CLOSE int fd = memfd_create("conformance", MFD_CLOEXEC);
    if (fd < 0 || !write_fully(fd, PROBE_FILE_CONTENT, PROBE_FILE_SIZE))
        return -1;
    return TAKE_FD(fd);
}

static int make_write_only(void)
{
    char path[64];
    CLEANUP_CLOSE int fd = make_regular();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_CLOEXEC);
}

static int make_pipe(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    close_fd(ends[1]);
    return ends[0];
}

static int make_descriptor(enum probe_file_kind kind)
{
    switch (kind) {
    case PROBE_FILE_PIPE:
        return make_pipe();
    case PROBE_FILE_DIRECTORY:
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    case PROBE_FILE_WRITE_ONLY:
        return make_write_only();
    case PROBE_FILE_REGULAR:
    case PROBE_FILE_KINDS:
        break;
    }
    return make_regular();
}

static struct probe_descriptor describe(int number)
{
    struct stat status;
    if (fstat(number, &status) != 0)
        return (struct probe_descriptor){.number = -1};
    return (struct probe_descriptor){number, status.st_dev, status.st_ino};
}

void probe_open_answer(struct probe_open *open, int32_t *descriptor, uint64_t *size,
                       uint32_t *verdict)
{
    open->asked++;
    if (open->given_count == PROBE_FILES_LIMIT)
        return;
    *descriptor = make_descriptor(open->kind);
    *size = open->size;
    *verdict = open->verdict;
    open->given[open->given_count++] = describe(*descriptor);
}

/* The whole content can be read, and none of it can be changed. */
static bool is_as_described(const char *file_json, int descriptor)
{
    struct stat status;
    char byte;
    json_auto_t *file = file_json ? json_loads(file_json, 0, NULL) : NULL;
    json_int_t size = json_member_integer(file, "size", -1);
    return *json_member_string(file, "path", "") && *json_member_string(file, "sha256", "") &&
           fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == size &&
           size > 0 && pread(descriptor, &byte, 1, size - 1) == 1 &&
           pread(descriptor, &byte, 1, size) == 0 && pwrite(descriptor, &byte, 1, 0) < 0;
}

void probe_store_answer(struct probe_store *store, const char *file_json, int descriptor, char *uri,
                        size_t capacity, size_t *length, uint32_t *verdict)
{
    size_t told = store->reported ? store->reported : sizeof(PROBE_URI) - 1;
    store->asked++;
    store->wrong |= !is_as_described(file_json, descriptor);
    store->lent = describe(descriptor);
    for (size_t i = 0; i < capacity && i < told; i++)
        uri[i] = PROBE_URI[i % (sizeof(PROBE_URI) - 1)];
    *length = told;
    *verdict = store->verdict;
}

bool probe_descriptor_is_open(const struct probe_descriptor *descriptor)
{
    struct probe_descriptor now = describe(descriptor->number);
    return now.number >= 0 && now.device == descriptor->device && now.inode == descriptor->inode;
}

size_t probe_open_left(const struct probe_open *open)
{
    size_t left = 0;
    for (size_t i = 0; i < open->given_count; i++)
        left += probe_descriptor_is_open(&open->given[i]);
    return left;
}

void probe_open_clear(struct probe_open *open)
{
    for (size_t i = 0; i < open->given_count; i++)
        if (probe_descriptor_is_open(&open->given[i]))
            close_fd(open->given[i].number);
    open->given_count = 0;
}
