/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a policy file: the only place of the policy that touches the system. Runs in the gateway
 * on the calling thread.
 */
#include "policy/policy_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trusted_file.h"

/* The requested bytes, or fewer at the file's end; -1 with errno. */
static ssize_t read_all(int fd, char *bytes, size_t length)
{
    size_t used = 0;
    while (used < length) {
        ssize_t got = read(fd, bytes + used, length - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

char *policy_file_read(const char *path, size_t *ret_length, struct error *error)
{
    CLEANUP_CLOSE int fd = trusted_file_open("policy", path, ERROR_INVALID_POLICY, error);
    if (fd < 0)
        return NULL;
    /* One byte beyond the limit reveals a file that is too long, whatever its size said. */
    CLEANUP_FREE char *bytes = malloc(POLICY_FILE_LIMIT + 1);
    if (!bytes) {
        error_set(error, ERROR_OUT_OF_MEMORY, "policy %.200s: out of memory", path);
        return NULL;
    }
    ssize_t length = read_all(fd, bytes, POLICY_FILE_LIMIT + 1);
    if (length < 0) {
        error_set_errno(error, ERROR_INVALID_POLICY, errno, "policy %.200s: cannot be read", path);
        return NULL;
    }
    if ((size_t)length > POLICY_FILE_LIMIT) {
        error_set(error, ERROR_INVALID_POLICY, "policy %.200s: longer than %u bytes", path,
                  POLICY_FILE_LIMIT);
        return NULL;
    }
    *ret_length = (size_t)length;
    return TAKE_POINTER(bytes);
}
