/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is known in this process of the content of sets. Runs in the gateway, on the thread
 * that asks. */
#include "packages/package_set.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "environments/tree_stamp.h"

#define KNOWN_LIMIT 32   /* sets; the oldest gives way */
#define VALID_MS    1000 /* for which nobody looks again */

/* A set whose content is known to be what was built, while it has that stamp. */
struct known_set {
    char directory[512];
    char stamp[SHA256_HEX_LENGTH + 1];
    uint64_t looked_ms; /* on CLOCK_MONOTONIC; 0: no entry */
};

static struct known_set known[KNOWN_LIMIT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct known_set *find(const struct package_set *set)
{
    for (size_t i = 0; i < KNOWN_LIMIT; i++)
        if (known[i].looked_ms > 0 && strcmp(known[i].directory, set->directory) == 0)
            return &known[i];
    return NULL;
}

/* The one that was looked at first, or one that is empty. */
static struct known_set *oldest(void)
{
    struct known_set *entry = &known[0];
    for (size_t i = 1; i < KNOWN_LIMIT; i++)
        if (known[i].looked_ms < entry->looked_ms)
            entry = &known[i];
    return entry;
}

static void remember(const struct package_set *set, const char *stamp)
{
    struct known_set *entry = find(set);
    if (!entry)
        entry = oldest();
    if (strlen(set->directory) >= sizeof(entry->directory)) /* it is looked at each time */
        return;
    (void)stpcpy(entry->directory, set->directory);
    memcpy(entry->stamp, stamp, sizeof(entry->stamp));
    entry->looked_ms = monotonic_ms();
}

static bool looked_lately(const struct package_set *set)
{
    HOLD_LOCK(lock);
    const struct known_set *entry = find(set);
    return entry && monotonic_ms() - entry->looked_ms < VALID_MS;
}

static bool is_known(const struct package_set *set, const char *stamp)
{
    HOLD_LOCK(lock);
    const struct known_set *entry = find(set);
    return entry && strcmp(entry->stamp, stamp) == 0;
}

static void note(const struct package_set *set, const char *stamp)
{
    HOLD_LOCK(lock);
    remember(set, stamp);
}

static int open_directory(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Has the build noted that one? */
static bool has_recorded_stamp(int directory, const char *stamp)
{
    char recorded[SHA256_TEXT_LENGTH + 1];
    return tree_stamp_recorded(directory, recorded) && strcmp(recorded, stamp) == 0;
}

static int open_set(const struct policy_environment *environment, const struct package_set *set,
                    struct error *error)
{
    int directory = open_directory(AT_FDCWD, set->directory);
    if (directory < 0)
        error_set_errno(error, ERROR_ENVIRONMENT_CHANGED, errno,
                        "the environment \"%s\" cannot be read", environment->name);
    return directory;
}

/* Every file, by the program. */
static bool verify(const struct policy_environment *environment, const struct package_set *set,
                   int directory, struct error *error)
{
    json_auto_t *answer = package_program_ask(PACKAGE_VERIFY, environment, directory, -1,
                                              ERROR_ENVIRONMENT_CHANGED, error);
    const char *sha256 = json_string_value(json_object_get(answer, "sha256"));
    const char *stamp = json_string_value(json_object_get(answer, "stamp"));
    if (!answer)
        return false;
    if (sha256 && stamp && strcmp(sha256, set->sha256) == 0 && strlen(stamp) == SHA256_HEX_LENGTH) {
        note(set, stamp);
        return true;
    }
    error_set(error, ERROR_ENVIRONMENT_CHANGED,
              "the environment \"%s\" has another inventory than its name says", environment->name);
    return false;
}

bool package_check_whole(const struct policy_environment *environment,
                         const struct package_set *set, struct error *error)
{
    CLEANUP_CLOSE int directory = open_set(environment, set, error);
    return directory >= 0 && verify(environment, set, directory, error);
}

bool package_check(const struct policy_environment *environment, const struct package_set *set,
                   struct error *error)
{
    const struct tree_limits limits = {.bytes = environment->bytes, .inodes = environment->inodes};
    char stamp[SHA256_HEX_LENGTH + 1];
    if (looked_lately(set))
        return true;
    CLEANUP_CLOSE int directory = open_set(environment, set, error);
    CLEANUP_CLOSE int content = directory < 0 ? -1 : open_directory(directory, "content");
    if (directory < 0)
        return false;
    if (content < 0) {
        error_set_errno(error, ERROR_ENVIRONMENT_CHANGED, errno,
                        "the environment \"%s\" has no content", environment->name);
        return false;
    }
    if (!tree_stamp(content, &limits, stamp, error)) {
        error->code = ERROR_ENVIRONMENT_CHANGED;
        error_add_context(error, "the environment \"%s\"", environment->name);
        return false;
    }
    if (!is_known(set, stamp) && !has_recorded_stamp(directory, stamp))
        return verify(environment, set, directory, error);
    note(set, stamp);
    return true;
}

void package_set_after_fork(void)
{
    (void)pthread_mutex_init(&lock, NULL);
}
