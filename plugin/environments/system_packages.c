/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of directories with installed packages: see system_packages.h. */
#include "environments/system_packages.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"

/* A list that is being made. */
struct reading {
    enum package_language language;
    struct system_packages *packages;
    unsigned long long deadline_ms;
    size_t entries; /* seen of the directory */
};

static void cleanup_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static bool add(const struct reading *reading, const struct package_facts *facts)
{
    struct system_packages *packages = reading->packages;
    if (system_packages_find(packages, reading->language, facts->name))
        return true;
    if (packages->count == SYSTEM_PACKAGES_LIMIT) {
        packages->is_cut = true;
        return true;
    }
    if (packages->count % 64 == 0) {
        struct package_facts *grown =
            reallocarray(packages->list, packages->count + 64, sizeof(*grown));
        if (!grown)
            return false;
        packages->list = grown;
    }
    packages->list[packages->count++] = *facts;
    return true;
}

/* Bytes of a regular file at the beginning, with a NUL behind them; *ret_whole: there are no more.
 * 0: nothing can be read. */
static size_t read_beginning(int directory, const char *path, char *text, size_t limit,
                             bool *ret_whole)
{
    struct stat status;
    size_t length = 0;
    ssize_t count = 0;
    CLEANUP_CLOSE int fd =
        openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return 0;
    while (length < limit && (count = read(fd, text + length, limit - length)) > 0)
        length += (size_t)count;
    text[length] = '\0';
    *ret_whole = length < limit;
    return length;
}

static int open_below(int directory, const char *name)
{
    return openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY | O_NONBLOCK);
}

/* An egg-info may be one file, or a directory with a file. Where neither can be read, its name says
 * enough. */
static bool add_python(struct reading *reading, int directory, const char *entry)
{
    static const char *const files[] = {"METADATA", "PKG-INFO"};
    char text[SYSTEM_METADATA_LIMIT + 1];
    struct package_facts facts;
    bool whole;
    if (!package_facts_of_entry(entry, &facts))
        return true;
    CLEANUP_CLOSE int below = open_below(directory, entry);
    size_t length =
        below < 0 ? read_beginning(directory, entry, text, sizeof(text) - 1, &whole) : 0;
    for (size_t i = 0; below >= 0 && length == 0 && i < COUNT_OF(files); i++)
        length = read_beginning(below, files[i], text, sizeof(text) - 1, &whole);
    if (length > 0)
        package_facts_add_headers(text, length, &facts);
    return add(reading, &facts);
}

/* name: with its scope, as programs import it; entry: within the directory. */
static bool add_javascript(struct reading *reading, int directory, const char *entry,
                           const char *name)
{
    struct stat status;
    struct package_facts facts = {.name = ""};
    char path[NAME_MAX + sizeof("/package.json")];
    bool whole = false;
    (void)snprintf(path, sizeof(path), "%s/package.json", entry);
    if (strlen(name) > PACKAGE_NAME_LIMIT || !package_name_is_valid(name) ||
        fstatat(directory, path, &status, 0) < 0 || !S_ISREG(status.st_mode))
        return true;
    (void)snprintf(facts.name, sizeof(facts.name), "%s", name);
    CLEANUP_FREE char *text = malloc(SYSTEM_MANIFEST_LIMIT + 1);
    CLEANUP_CLOSE int below = open_below(directory, entry);
    if (!text)
        return false;
    if (below >= 0 &&
        read_beginning(below, "package.json", text, SYSTEM_MANIFEST_LIMIT, &whole) > 0 && whole)
        package_facts_add_json(text, &facts);
    return add(reading, &facts);
}

/* The next entry that counts; NULL at the end, or at a bound. */
static const char *next_entry(struct reading *reading, DIR *directory)
{
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (++reading->entries > SYSTEM_ENTRIES_LIMIT || monotonic_ms() > reading->deadline_ms) {
            reading->packages->is_cut = true;
            return NULL;
        }
        if (entry->d_name[0] != '.')
            return entry->d_name;
    }
    return NULL;
}

static bool add_scope(struct reading *reading, int directory, const char *scope)
{
    char name[2 * NAME_MAX + 2];
    int fd = open_below(directory, scope);
    CLEANUP(cleanup_directory) DIR *below = fd >= 0 ? fdopendir(fd) : NULL;
    if (!below) {
        close_fd(fd);
        return true;
    }
    for (const char *entry; (entry = next_entry(reading, below));) {
        (void)snprintf(name, sizeof(name), "%s/%s", scope, entry);
        if (!add_javascript(reading, dirfd(below), entry, name))
            return false;
    }
    return true;
}

bool system_packages_add(enum package_language language, const char *directory,
                         unsigned long long deadline_ms, struct system_packages *packages)
{
    struct reading reading = {
        .language = language, .packages = packages, .deadline_ms = deadline_ms};
    int fd = open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK);
    CLEANUP(cleanup_directory) DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
    if (!opened) {
        close_fd(fd);
        return true;
    }
    for (const char *entry; (entry = next_entry(&reading, opened));) {
        bool added = language == PACKAGES_PYTHON ? add_python(&reading, dirfd(opened), entry)
                     : entry[0] == '@'           ? add_scope(&reading, dirfd(opened), entry)
                                       : add_javascript(&reading, dirfd(opened), entry, entry);
        if (!added)
            return false;
    }
    return true;
}

const struct package_facts *system_packages_find(const struct system_packages *packages,
                                                 enum package_language language, const char *name)
{
    for (size_t i = 0; i < packages->count; i++) {
        const char *own = packages->list[i].name;
        if (language == PACKAGES_PYTHON ? package_names_equal(own, name) : strcmp(own, name) == 0)
            return &packages->list[i];
    }
    return NULL;
}

void system_packages_clear(struct system_packages *packages)
{
    free(packages->list);
    *packages = (struct system_packages){.count = 0};
}
