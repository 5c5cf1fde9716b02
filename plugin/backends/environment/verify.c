/* SPDX-License-Identifier: Apache-2.0 */
/* Compares an installed environment with its inventory: see commands.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/environment/commands.h"
#include "base/cleanup.h"
#include "environments/inventory.h"
#include "environments/tree_stamp.h"

static bool fail_at(struct outcome *outcome, const char *place, const char *sentence)
{
    (void)stpcpy(outcome->place, place);
    (void)error_set(&outcome->error, ERROR_INTERNAL, "%s", sentence);
    return false;
}

/* As much of the file as there is, up to the limit: new, and *ret_length. NULL: there is none. */
static char *read_inventory(int directory, size_t limit, size_t *ret_length)
{
    struct stat status;
    CLEANUP_CLOSE int file = openat(directory, INVENTORY_NAME,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) < 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size > limit)
        return NULL;
    size_t size = (size_t)status.st_size;
    CLEANUP_FREE char *text = malloc(size + 1);
    size_t length = 0;
    while (text && length < size) {
        ssize_t count = read(file, text + length, size - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return NULL;
        length += (size_t)count;
    }
    *ret_length = length;
    return TAKE_POINTER(text);
}

static bool compare(const char *recorded, size_t length, const struct inventory *made,
                    struct outcome *outcome)
{
    static const char *const sentences[] = {
        [INVENTORY_CHANGED] = "it is not as it was installed",
        [INVENTORY_ADDED] = "it was added",
        [INVENTORY_REMOVED] = "it was removed",
    };
    const char *path;
    size_t path_length;
    enum inventory_change change =
        inventory_compare(recorded, length, made->text, made->length, &path, &path_length);
    if (change == INVENTORY_SAME)
        return true;
    if (!path)
        return fail_at(outcome, INVENTORY_NAME, "it is not the inventory of the packages");
    size_t shown = path_length > TREE_PATH_LIMIT ? TREE_PATH_LIMIT : path_length;
    memcpy(outcome->place, path, shown);
    outcome->place[shown] = '\0';
    (void)error_set(&outcome->error, ERROR_INTERNAL, "%s", sentences[change]);
    return false;
}

/* The longest line that an inventory may have, and one for the directory that it has not. */
static size_t inventory_limit(const struct tree_limits *limits)
{
    const uint64_t line = 2 * TREE_PATH_LIMIT + 128;
    return limits->inodes < SIZE_MAX / line - 1 ? (size_t)((limits->inodes + 1) * line) : SIZE_MAX;
}

/* The stamp is older than the hashes: whatever changes in between shows in the next stamp. */
static bool verify_content(int directory, int content, const struct tree_limits *limits,
                           struct outcome *outcome)
{
    CLEANUP(inventory_clear) struct inventory made = {0};
    size_t length = 0;
    CLEANUP_FREE char *recorded = read_inventory(directory, inventory_limit(limits), &length);
    if (!recorded)
        return fail_at(outcome, INVENTORY_NAME, "the inventory cannot be read");
    /* Where it cannot be stamped there is no inventory either, and that says where. */
    bool is_stamped = tree_stamp(content, limits, outcome->stamp, &outcome->error);
    if (!inventory_make(content, limits, &made, &outcome->error)) {
        memcpy(outcome->place, made.place, sizeof(made.place));
        return false;
    }
    if (!is_stamped)
        return false;
    memcpy(outcome->sha256, made.sha256, sizeof(made.sha256));
    return compare(recorded, length, &made, outcome);
}

static bool verify(int directory, const struct tree_limits *limits, struct outcome *outcome)
{
    CLEANUP_CLOSE int content =
        openat(directory, CONTENT_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (content < 0)
        return fail_at(outcome, CONTENT_NAME, "the directory of packages cannot be opened");
    if (!tree_stamp_recorded(directory, outcome->recorded_stamp))
        return fail_at(outcome, TREE_STAMP_FILE, "the stamp cannot be read, or is none");
    return verify_content(directory, content, limits, outcome);
}

void command_verify(int directory, const struct tree_limits *limits, struct outcome *outcome)
{
    outcome->is_good = verify(directory, limits, outcome);
}
