/* SPDX-License-Identifier: Apache-2.0 */
/* Installs an archive: see commands.h. The order is that after a crash the directory is either
 * whole or not yet renamed: everything is on the disk when the answer is given. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backends/environment/archive_input.h"
#include "backends/environment/commands.h"
#include "backends/environment/content.h"
#include "base/cleanup.h"
#include "base/write_fully.h"
#include "environments/inventory.h"
#include "environments/tree_stamp.h"

static void input_clear(struct archive_input *const *input)
{
    archive_input_close(*input);
}

static bool fail(struct error *error, const char *sentence)
{
    (void)error_set_errno(error, ERROR_INTERNAL, errno, "%s", sentence);
    return false;
}

static bool is_empty(int directory, struct error *error)
{
    /* A limit of no entry: the walk fails at the first. */
    static const struct tree_limits none = {0};
    char stamp[SHA256_TEXT_LENGTH + 1];
    if (tree_stamp(directory, &none, stamp, error))
        return true;
    (void)error_add_context(error, "the directory for the environment is not an empty one");
    return false;
}

static bool extract(int archive, struct content *content, struct outcome *outcome)
{
    struct archive_item item;
    CLEANUP(input_clear) struct archive_input *input = archive_input_open(archive, &outcome->error);
    if (!input)
        return false;
    for (;;) {
        enum archive_step step = archive_input_next(input, &item, &outcome->error);
        if (step == ARCHIVE_STEP_END)
            return true;
        if (step == ARCHIVE_STEP_ITEM && content_add(content, input, &item, &outcome->error))
            continue;
        memcpy(outcome->place, item.path, sizeof(item.path));
        return false;
    }
}

static bool write_file(int directory, const char *name, const char *text, size_t length,
                       struct outcome *outcome)
{
    CLEANUP_CLOSE int file =
        openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0 && write_fully(file, text, length) && fchmod(file, 0444) == 0)
        return true;
    (void)fail(&outcome->error, "the file cannot be written");
    (void)stpcpy(outcome->place, name);
    return false;
}

static bool write_records(int directory, const struct inventory *inventory, struct outcome *outcome)
{
    char line[SHA256_TEXT_LENGTH + 2];
    memcpy(line, outcome->stamp, SHA256_TEXT_LENGTH);
    line[SHA256_TEXT_LENGTH] = '\n';
    return write_file(directory, INVENTORY_NAME, inventory->text, inventory->length, outcome) &&
           write_file(directory, TREE_STAMP_FILE, line, SHA256_TEXT_LENGTH + 1, outcome);
}

/* The stamp is older than the inventory: whatever changes in between shows in the next stamp. */
static bool record(int directory, const struct content *content, struct outcome *outcome)
{
    CLEANUP(inventory_clear) struct inventory inventory = {0};
    if (!tree_stamp(content->top, content->limits, outcome->stamp, &outcome->error))
        return false;
    if (!inventory_make(content->top, content->limits, &inventory, &outcome->error)) {
        memcpy(outcome->place, inventory.place, sizeof(inventory.place));
        return false;
    }
    memcpy(outcome->sha256, inventory.sha256, sizeof(inventory.sha256));
    outcome->bytes = inventory.totals.bytes;
    outcome->files = inventory.totals.files;
    return write_records(directory, &inventory, outcome);
}

static bool install(int archive, int directory, const struct tree_limits *limits,
                    struct outcome *outcome)
{
    if (!is_empty(directory, &outcome->error))
        return false;
    if (mkdirat(directory, CONTENT_NAME, 0700) < 0)
        return fail(&outcome->error, "the directory of packages cannot be made");
    CLEANUP_CLOSE int top =
        openat(directory, CONTENT_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct content content = {.top = top, .limits = limits};
    if (top < 0)
        return fail(&outcome->error, "the directory of packages cannot be opened");
    if (!extract(archive, &content, outcome) ||
        !content_settle(&content, outcome->place, &outcome->error) ||
        !record(directory, &content, outcome))
        return false;
    return syncfs(directory) == 0 ||
           fail(&outcome->error, "the environment cannot be brought to the disk");
}

void command_install(int archive, int directory, const struct tree_limits *limits,
                     struct outcome *outcome)
{
    outcome->is_good = install(archive, directory, limits, outcome);
}
