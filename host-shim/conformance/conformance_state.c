/* SPDX-License-Identifier: Apache-2.0 */
/* Takes and compares the state of the process. Main thread. */
#include "conformance/conformance_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static void cleanup_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

/* The entries' names in the kernel's order, but for the descriptor that reads them. */
static bool list_directory(const char *path, char **ret_names, size_t *ret_count)
{
    __attribute__((cleanup(cleanup_directory))) DIR *directory = opendir(path);
    CLEANUP_FREE char *names = NULL;
    size_t length = 0;
    CLEANUP_FILE FILE *out = open_memstream(&names, &length);
    if (!directory || !out)
        return false;
    char own[16];
    (void)snprintf(own, sizeof(own), "%d", dirfd(directory));
    size_t count = 0;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0)
            continue;
        (void)fprintf(out, "%s ", entry->d_name);
        count++;
    }
    if (fclose(TAKE_POINTER(out)) != 0)
        return false;
    *ret_names = TAKE_POINTER(names);
    *ret_count = count;
    return true;
}

/* proc_pid_maps(5): the sixth field is the file's name, from the root on. Counts those, or those of
 * one name. */
static bool count_mapped(const char *only, size_t *ret_count)
{
    CLEANUP_FILE FILE *maps = fopen("/proc/self/maps", "re");
    CLEANUP_FREE char *line = NULL;
    size_t capacity = 0, count = 0;
    if (!maps)
        return false;
    while (getline(&line, &capacity, maps) > 0) {
        char *name = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        count += name && (!only || strcmp(name, only) == 0);
    }
    *ret_count = count;
    return true;
}

bool process_state_maps(const char *path)
{
    size_t count = 0;
    return count_mapped(path, &count) && count > 0;
}

static char *environment_text(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (char **variable = environ; *variable; variable++)
        (void)fprintf(out, "%s\n", *variable);
    (void)fclose(out);
    return text;
}

/* umask(2) cannot be asked without being set. */
static unsigned current_umask(void)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    return mask;
}

static bool take_texts(struct process_state *state)
{
    CLEANUP_FREE char *tasks = NULL;
    size_t descriptors = 0;
    const char *locale = setlocale(LC_ALL, NULL);
    state->directory = getcwd(NULL, 0);
    state->environment = environment_text();
    state->locale = strdup(locale ? locale : "");
    return state->directory && state->environment && state->locale &&
           list_directory("/proc/self/fd", &state->descriptors, &descriptors) &&
           list_directory("/proc/self/task", &tasks, &state->threads) &&
           count_mapped(NULL, &state->mapped_files);
}

bool process_state_take(struct process_state *ret)
{
    *ret = (struct process_state){.file_mode_mask = current_umask()};
    (void)pthread_sigmask(SIG_SETMASK, NULL, &ret->mask);
    for (int number = 1; number < STATE_SIGNALS; number++)
        (void)sigaction(number, NULL, &ret->dispositions[number]);
    for (int limit = 0; limit < (int)RLIM_NLIMITS; limit++)
        (void)getrlimit((__rlimit_resource_t)limit, &ret->limits[limit]);
    if (take_texts(ret))
        return true;
    process_state_clear(ret);
    return false;
}

void process_state_clear(struct process_state *state)
{
    free(state->directory);
    free(state->environment);
    free(state->locale);
    free(state->descriptors);
    *state = (struct process_state){0};
}

static bool same_dispositions(const struct process_state *before, const struct process_state *after)
{
    for (int number = 1; number < STATE_SIGNALS; number++) {
        const struct sigaction *old = &before->dispositions[number];
        const struct sigaction *new = &after->dispositions[number];
        if (old->sa_handler != new->sa_handler || old->sa_flags != new->sa_flags)
            return false;
    }
    return true;
}

static bool same_mask(const sigset_t *before, const sigset_t *after)
{
    for (int number = 1; number < STATE_SIGNALS; number++) {
        if (sigismember(before, number) != sigismember(after, number))
            return false;
    }
    return true;
}

static bool same_limits(const struct process_state *before, const struct process_state *after)
{
    for (size_t limit = 0; limit < RLIM_NLIMITS; limit++) {
        if (before->limits[limit].rlim_cur != after->limits[limit].rlim_cur ||
            before->limits[limit].rlim_max != after->limits[limit].rlim_max)
            return false;
    }
    return true;
}

const char *process_state_difference(const struct process_state *before,
                                     const struct process_state *after)
{
    if (!same_mask(&before->mask, &after->mask))
        return "the signal mask";
    if (!same_dispositions(before, after))
        return "a signal's disposition";
    if (before->file_mode_mask != after->file_mode_mask)
        return "the umask";
    if (strcmp(before->directory, after->directory) != 0)
        return "the working directory";
    if (strcmp(before->environment, after->environment) != 0)
        return "the environment";
    if (strcmp(before->locale, after->locale) != 0)
        return "the locale";
    return same_limits(before, after) ? NULL : "a resource limit";
}

const char *process_state_leftover(const struct process_state *before,
                                   const struct process_state *after)
{
    if (strcmp(before->descriptors, after->descriptors) != 0)
        return "an open descriptor";
    return before->threads == after->threads ? NULL : "a thread";
}
