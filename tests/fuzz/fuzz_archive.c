/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stranger's archive: an entry that is taken has a path and a target that stay below the top, and
 * as many bytes as it says, and a whole archive has its end mark. The entries of the same bytes are
 * the same.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "backends/environment/archive_input.h"
#include "base/sha256.h"
#include "environments/inventory.h"
#include "fuzz.h"

#define ENTRIES 100
#define BYTES   (UINT64_C(1) << 20)

static void must_be_below(const char *path, bool is_top)
{
    char inside[2 * TREE_PATH_LIMIT + 4];
    MUST(tree_text_is_plain(path));
    MUST(is_top || path[0] != '\0');
    MUST(path[0] != '/' && strlen(path) <= TREE_PATH_LIMIT);
    (void)snprintf(inside, sizeof(inside), "/%s/", path);
    MUST(is_top || !strstr(inside, "//"));
    MUST(!strstr(inside, "/./") && !strstr(inside, "/../"));
}

static void check_item(const struct archive_item *item)
{
    must_be_below(item->path, item->kind == ITEM_DIRECTORY && item->path[0] == '\0');
    MUST(item->time >= 0 && item->time <= INT64_C(0xffffffff));
    MUST(item->kind == ITEM_FILE || item->size == 0);
    if (item->kind == ITEM_HARD_LINK)
        must_be_below(item->target, false);
    if (item->kind == ITEM_LINK)
        MUST(tree_text_is_plain(item->target) && inventory_link_stays(item->path, item->target));
}

/* false: the rest of the archive is not for the program either. */
static bool read_item(struct archive_input *input, const struct archive_item *item,
                      struct sha256 *hash)
{
    struct error error;
    uint64_t done = 0;
    const void *bytes;
    int64_t count = 0;
    sha256_add(hash, item->path, sizeof(item->path));
    sha256_add(hash, item->target, sizeof(item->target));
    if (item->kind != ITEM_FILE)
        return true;
    while (item->size <= BYTES && (count = archive_input_read(input, item, &bytes, &error)) > 0) {
        done += (uint64_t)count;
        MUST(done <= item->size);
        sha256_add(hash, bytes, (size_t)count);
    }
    MUST(item->size > BYTES || count < 0 || done == item->size);
    return item->size <= BYTES && count == 0;
}

static enum archive_step read_archive(int file, char ret[SHA256_TEXT_LENGTH + 1])
{
    struct archive_item item;
    struct sha256 hash;
    struct error error = {0};
    enum archive_step step = ARCHIVE_STEP_FAILED;
    struct archive_input *input = archive_input_open(file, &error);
    sha256_begin(&hash);
    for (unsigned count = 0; input && count < ENTRIES; count++) {
        step = archive_input_next(input, &item, &error);
        MUST(step != ARCHIVE_STEP_FAILED || error.message[0] != '\0');
        if (step != ARCHIVE_STEP_ITEM)
            break;
        check_item(&item);
        if (!read_item(input, &item, &hash))
            break;
    }
    archive_input_close(input);
    sha256_end(&hash, ret);
    return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char one[SHA256_TEXT_LENGTH + 1];
    char other[SHA256_TEXT_LENGTH + 1];
    int file = memfd_create("archive", MFD_CLOEXEC);
    MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
    enum archive_step step = read_archive(file, one);
    MUST(step == read_archive(file, other) && strcmp(one, other) == 0);
    MUST(step != ARCHIVE_STEP_END || (size >= 1024 && data[size - 1] == 0));
    (void)close(file);
    return 0;
}
