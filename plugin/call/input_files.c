/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, weighing and opening files by reference. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "call/input_files.h"

#include <errno.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "call/call.h"
#include "call/context.h"
#include "host/host.h"

#define CHUNK_BYTES 262144

/* The description has the program before them. */
static struct run_file *described(struct call *call, size_t index)
{
    return &call->description.files[index + 1];
}

static bool find_file(const struct call_context *context, size_t index, struct request_file *file,
                      struct error *error)
{
    const struct context_file *listed = context_find_file(context, file->ref);
    if (!listed) {
        error_set(error, ERROR_FILE_NOT_FOUND,
                  "request: /files/%zu/ref: the gateway offers no file of that reference", index);
        return false;
    }
    file->name = listed->name;
    file->length = listed->size;
    file->sha256[0] = '\0';
    if (listed->sha256)
        memcpy(file->sha256, listed->sha256, sizeof(file->sha256));
    return true;
}

bool input_files_find(struct call *call, struct error *error)
{
    struct request *request = &call->request;
    for (size_t i = 0; i < request->file_count; i++)
        if (request->files[i].ref && !find_file(&call->context, i, &request->files[i], error))
            return false;
    return true;
}

static bool refuse_limit(const char *whose, const char *limit, uint64_t most, const char *unit,
                         uint64_t asked, struct error *error)
{
    error_set(error, ERROR_LIMIT_TOO_HIGH,
              "request: /files: %llu %s by reference is more than the %s %s of %llu",
              (unsigned long long)asked, unit, whose, limit, (unsigned long long)most);
    error_set_hint(error, "name fewer or smaller files");
    return false;
}

/* Their content is memory of the sandbox. */
static bool fits_memory(const struct call *call, uint64_t bytes, struct error *error)
{
    uint64_t memory = call->description.limits.memory_bytes;
    if (!sandbox_mode_row(call->configuration.mode)->isolation || memory == 0 || bytes < memory)
        return true;
    (void)refuse_limit("run's", "memory_bytes", memory, "bytes of files", bytes, error);
    error_set_hint(error, "name fewer or smaller files, or ask for more memory_bytes");
    return false;
}

static const char *whose_limit(uint64_t limit, uint64_t of_policy)
{
    return limit < of_policy ? "gateway's" : "policy's";
}

bool input_files_fit(const struct call *call, struct error *error)
{
    const struct policy_files_in *most = &call->transfers.files_in;
    const struct policy_files_in *own = &call->configuration.policy->transfers.files_in;
    const struct request *request = &call->request;
    uint64_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < request->file_count; i++) {
        if (!request->files[i].ref)
            continue;
        count++;
        bytes += request->files[i].length;
    }
    if (count > most->max_files)
        return refuse_limit(whose_limit(most->max_files, own->max_files), "files.in.max_files",
                            most->max_files, "files", count, error);
    if (bytes > most->total_bytes)
        return refuse_limit(whose_limit(most->total_bytes, own->total_bytes),
                            "files.in.total_bytes", most->total_bytes, "bytes of files", bytes,
                            error);
    return fits_memory(call, bytes, error);
}

static bool refuse_size(const struct request_file *file, uint64_t size, struct error *error)
{
    error_set(error, ERROR_FILE_CHANGED,
              "the file %.128s has %llu bytes, and the gateway listed it with %llu", file->name,
              (unsigned long long)size, (unsigned long long)file->length);
    return false;
}

/* The descriptor of the file as it is listed, or -1. */
static int open_file(const struct call *call, const struct request_file *file, struct error *error)
{
    CLEANUP_CLOSE int fd = -1;
    uint64_t size;
    if (!host_open_file(&call->host, file->ref, &fd, &size, error))
        return -1;
    if (size == file->length)
        return TAKE_FD(fd);
    (void)refuse_size(file, size, error);
    return -1;
}

static bool is_cancelled(const struct call *call, struct error *error)
{
    if (!atomic_load(&call->registration.cancelled))
        return false;
    error_set(error, ERROR_CANCELLED, "cancelled before the program began");
    return true;
}

/* By position: the gateway may have other descriptors of the same opening. */
static bool hash_descriptor(const struct call *call, int fd, struct request_file *file,
                            struct error *error)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    CLEANUP_FREE unsigned char *chunk = malloc(CHUNK_BYTES);
    SHA256_CTX context;
    if (!chunk) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for reading a file");
        return false;
    }
    SHA256_Init(&context);
    for (size_t done = 0; done < file->length;) {
        size_t left = file->length - done;
        ssize_t length = pread(fd, chunk, left < CHUNK_BYTES ? left : CHUNK_BYTES, (off_t)done);
        if (is_cancelled(call, error))
            return false;
        if (length < 0 && errno == EINTR)
            continue;
        if (length == 0)
            return refuse_size(file, done, error);
        if (length < 0) {
            error_set_errno(error, ERROR_FILE_NOT_FOUND, errno, "the file %.128s cannot be read",
                            file->name);
            return false;
        }
        SHA256_Update(&context, chunk, (size_t)length);
        done += (size_t)length;
    }
    SHA256_Final(digest, &context);
    hex_text(digest, sizeof(digest), file->sha256);
    return true;
}

bool input_files_check(struct call *call, struct error *error)
{
    struct request *request = &call->request;
    for (size_t i = 0; i < request->file_count; i++) {
        struct request_file *file = &request->files[i];
        if (!file->ref)
            continue;
        CLEANUP_CLOSE int fd = open_file(call, file, error);
        if (fd < 0 || (file->sha256[0] == '\0' && !hash_descriptor(call, fd, file, error)))
            return false;
        memcpy(described(call, i)->sha256, file->sha256, sizeof(file->sha256));
    }
    return true;
}

bool input_files_open(struct call *call, struct error *error)
{
    const struct request *request = &call->request;
    for (size_t i = 0; i < request->file_count; i++) {
        if (!request->files[i].ref)
            continue;
        int fd = open_file(call, &request->files[i], error);
        if (fd < 0)
            return false;
        call->inputs.fds[call->inputs.count++] = fd;
    }
    return true;
}

void input_files_close(struct input_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        close_fd(files->fds[i]);
    files->count = 0;
}
