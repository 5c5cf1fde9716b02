/* SPDX-License-Identifier: Apache-2.0 */
/* Makes stamps: see tree_stamp.h. Numbers are hashed as the machine has them in memory, as text
 * takes longer to write than the rest of the walk. */
#include "environments/tree_stamp.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"

static bool add_entry(void *user, const struct tree_entry *entry, struct error *error)
{
    struct sha256 *hash = user;
    const struct stat *status = entry->status;
    const uint64_t numbers[] = {
        status->st_mode,
        status->st_uid,
        status->st_ino,
        status->st_nlink,
        (uint64_t)status->st_size,
        (uint64_t)status->st_mtim.tv_sec,
        (uint64_t)status->st_mtim.tv_nsec,
        (uint64_t)status->st_ctim.tv_sec,
        (uint64_t)status->st_ctim.tv_nsec,
    };
    (void)error;
    sha256_add(hash, entry->path, strlen(entry->path) + 1);
    sha256_add(hash, numbers, sizeof(numbers));
    return true;
}

bool tree_stamp(int directory, const struct tree_limits *limits, char ret[SHA256_TEXT_LENGTH + 1],
                struct error *error)
{
    struct sha256 hash;
    struct tree_walk walk = {.limits = limits, .visit = add_entry, .user = &hash};
    sha256_begin(&hash);
    if (!tree_walk_run(directory, &walk, error)) {
        if (walk.path[0] != '\0')
            (void)error_add_context(error, "%s", walk.path);
        return false;
    }
    sha256_end(&hash, ret);
    return true;
}

bool tree_stamp_recorded(int directory, char ret[SHA256_TEXT_LENGTH + 1])
{
    char line[SHA256_TEXT_LENGTH + 2];
    struct stat status;
    CLEANUP_CLOSE int file = openat(directory, TREE_STAMP_FILE,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size != SHA256_TEXT_LENGTH + 1 ||
        read(file, line, sizeof(line)) != SHA256_TEXT_LENGTH + 1 ||
        line[SHA256_TEXT_LENGTH] != '\n')
        return false;
    line[SHA256_TEXT_LENGTH] = '\0';
    if (!ascii_is_hex(line, SHA256_TEXT_LENGTH))
        return false;
    memcpy(ret, line, SHA256_TEXT_LENGTH + 1);
    return true;
}
