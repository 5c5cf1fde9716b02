/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metrics into a file in one step. Any thread. */
#include "metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "descriptor_io.h"
#include "prometheus_text.h"

static bool replace_file(const char *path, const char *text, size_t length, struct failure *failure)
{
    CLEANUP_FREE char *aside = NULL;
    if (asprintf(&aside, "%s.XXXXXX", path) < 0) {
        aside = NULL;
        return failure_out_of_memory(failure);
    }
    CLEANUP_CLOSE int fd = mkostemp(aside, O_CLOEXEC);
    if (fd < 0)
        return failure_set_errno(failure, "unwritable_file", errno, "%s", path);
    if (write_fully(fd, text, length) && fchmod(fd, 0644) == 0 && rename(aside, path) == 0)
        return true;
    (void)failure_set_errno(failure, "unwritable_file", errno, "%s", path);
    (void)unlink(aside);
    return false;
}

bool metrics_file_write(const char *path, const json_t *status, struct failure *failure)
{
    size_t length = 0;
    CLEANUP_FREE char *text = prometheus_text_make(status, &length);
    if (!text)
        return failure_out_of_memory(failure);
    return replace_file(path, text, length, failure);
}
