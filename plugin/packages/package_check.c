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
#include "environments/tree_watch.h"

#define KNOWN_LIMIT 32    /* sets; the oldest gives way */
#define VALID_MS    1000  /* for which nobody looks again */
#define WATCHED_MS  60000 /* the same of one that is watched, and quiet */

/* A set whose content is known to be what was built, while it has that stamp. */
struct known_set {
    char directory[512];
    char stamp[SHA256_HEX_LENGTH + 1];
    uint64_t looked_ms;      /* on CLOCK_MONOTONIC; 0: no entry */
    struct tree_watch watch; /* since before that; of an entry alone */
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

static void forget(struct known_set *entry)
{
    if (entry->looked_ms > 0)
        tree_watch_end(&entry->watch);
    *entry = (struct known_set){0};
}

/* Takes the watch; NULL: there is none. */
static void remember(const struct package_set *set, const char *stamp, struct tree_watch *watch)
{
    struct known_set *entry = find(set);
    if (!entry)
        entry = oldest();
    if (strlen(set->directory) >= sizeof(entry->directory)) /* it is looked at each time */
        return;
    forget(entry);
    (void)stpcpy(entry->directory, set->directory);
    memcpy(entry->stamp, stamp, sizeof(entry->stamp));
    entry->looked_ms = monotonic_ms();
    entry->watch = (struct tree_watch)TREE_WATCH_NONE;
    if (watch) {
        entry->watch = *watch;
        *watch = (struct tree_watch)TREE_WATCH_NONE;
    }
}

/* Is it known that nothing has changed since somebody looked? */
static bool is_unchanged(const struct package_set *set, int content)
{
    HOLD_LOCK(lock);
    const struct known_set *entry = find(set);
    if (!entry)
        return false;
    uint64_t age_ms = monotonic_ms() - entry->looked_ms;
    return entry->watch.fd >= 0 ? age_ms < WATCHED_MS && tree_watch_is_quiet(&entry->watch, content)
                                : age_ms < VALID_MS;
}

static bool is_known(const struct package_set *set, const char *stamp)
{
    HOLD_LOCK(lock);
    const struct known_set *entry = find(set);
    return entry && strcmp(entry->stamp, stamp) == 0;
}

static void note(const struct package_set *set, const char *stamp, struct tree_watch *watch)
{
    HOLD_LOCK(lock);
    remember(set, stamp, watch);
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
                   int directory, struct tree_watch *watch, struct error *error)
{
    json_auto_t *answer = package_program_ask(PACKAGE_VERIFY, environment, directory, -1,
                                              ERROR_ENVIRONMENT_CHANGED, error);
    const char *sha256 = json_string_value(json_object_get(answer, "sha256"));
    const char *stamp = json_string_value(json_object_get(answer, "stamp"));
    if (!answer)
        return false;
    if (sha256 && stamp && strcmp(sha256, set->sha256) == 0 && strlen(stamp) == SHA256_HEX_LENGTH) {
        note(set, stamp, watch);
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
    return directory >= 0 && verify(environment, set, directory, NULL, error);
}

/* By its stamp, or else every file. */
static bool look(const struct policy_environment *environment, const struct package_set *set,
                 int directory, int content, struct error *error)
{
    const struct tree_limits limits = {.bytes = environment->bytes, .inodes = environment->inodes};
    CLEANUP(tree_watch_end) struct tree_watch watch = TREE_WATCH_NONE;
    char stamp[SHA256_HEX_LENGTH + 1];
    /* First, so that nothing changes unseen between the two. */
    (void)tree_watch_begin(content, &limits, &watch);
    if (!tree_stamp(content, &limits, stamp, error)) {
        error->code = ERROR_ENVIRONMENT_CHANGED;
        error_add_context(error, "the environment \"%s\"", environment->name);
        return false;
    }
    if (!is_known(set, stamp) && !has_recorded_stamp(directory, stamp))
        return verify(environment, set, directory, &watch, error);
    note(set, stamp, &watch);
    return true;
}

bool package_check(const struct policy_environment *environment, const struct package_set *set,
                   struct error *error)
{
    CLEANUP_CLOSE int directory = open_set(environment, set, error);
    CLEANUP_CLOSE int content = directory < 0 ? -1 : open_directory(directory, "content");
    if (directory < 0)
        return false;
    if (content >= 0)
        return is_unchanged(set, content) || look(environment, set, directory, content, error);
    error_set_errno(error, ERROR_ENVIRONMENT_CHANGED, errno,
                    "the environment \"%s\" has no content", environment->name);
    return false;
}

void package_set_forget(void)
{
    HOLD_LOCK(lock);
    for (size_t i = 0; i < KNOWN_LIMIT; i++)
        forget(&known[i]);
}

/* What a watch tells is for all who have a copy of its descriptor, so the child closes its own. */
void package_set_after_fork(void)
{
    (void)pthread_mutex_init(&lock, NULL);
    for (size_t i = 0; i < KNOWN_LIMIT; i++)
        forget(&known[i]);
}
