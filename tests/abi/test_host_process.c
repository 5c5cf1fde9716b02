/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gateways as they are: with a SIGCHLD handler of their own, with SIGCHLD ignored, with a thread
 * that reaps every child it can find, multi-threaded, loading and unloading. Each gets right exit
 * codes and its own state back unchanged. Every case runs in its own process (Check forks), which
 * is the gateway; the plugin's path is in CODE_EXECUTE_SO.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "permissive_host.h"
#include "tap_suite.h"
#include "tool_provider.h"

#define PARALLEL_CALLS 48
#define RELOADS        200

struct loaded {
    void *library;
    tool_invoke_fn invoke;
    tool_free_fn free_text;
    tool_cancel_fn cancel;
    tool_shutdown_fn shutdown;
};

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    ck_assert_msg(found != NULL, "no symbol %s", name);
    return found;
}

static struct loaded load(void)
{
    const char *path = getenv("CODE_EXECUTE_SO");
    ck_assert_msg(path != NULL, "CODE_EXECUTE_SO is not set");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    return (struct loaded){
        .library = library,
        .invoke = (tool_invoke_fn)symbol(library, "tool_invoke"),
        .free_text = (tool_free_fn)symbol(library, "tool_free"),
        .cancel = (tool_cancel_fn)symbol(library, "tool_cancel"),
        .shutdown = (tool_shutdown_fn)symbol(library, "tool_shutdown"),
    };
}

/* Runs "exit N" and checks that the result says so. */
static void expect_exit_code(const struct loaded *provider, int wanted)
{
    char input[80];
    (void)snprintf(input, sizeof(input), "{\"language\":\"sh\",\"code\":\"echo out; exit %d\"}",
                   wanted);
    struct tool_host host = permissive_host(0);
    char *output = NULL;
    ck_assert_int_eq(provider->invoke("code_execute", input, &host, &output), TOOL_OK);
    json_t *result = json_loads(output, 0, NULL);
    ck_assert_ptr_nonnull(result);
    ck_assert_msg(json_integer_value(json_object_get(result, "exit_code")) == wanted, "%s", output);
    ck_assert_str_eq(json_string_value(json_object_get(result, "stdout")), "out\n");
    json_decref(result);
    provider->free_text(output);
}

static atomic_int children_seen;

static void reap_in_handler(int number)
{
    (void)number;
    int saved = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        atomic_fetch_add(&children_seen, 1);
    errno = saved;
}

START_TEST(host_with_its_own_sigchld_handler)
{
    struct sigaction action = {.sa_handler = reap_in_handler, .sa_flags = SA_RESTART};
    ck_assert_int_eq(sigaction(SIGCHLD, &action, NULL), 0);
    struct loaded provider = load();
    for (int code = 0; code < 5; code++)
        expect_exit_code(&provider, code);
    /* At most the launcher of the backend, once; never a run. */
    ck_assert_int_le(atomic_load(&children_seen), 1);

    struct sigaction after;
    ck_assert_int_eq(sigaction(SIGCHLD, NULL, &after), 0);
    ck_assert_ptr_eq((void *)after.sa_handler, (void *)reap_in_handler);
    dlclose(provider.library);
}
END_TEST

START_TEST(host_that_ignores_sigchld)
{
    ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    struct loaded provider = load();
    for (int code = 0; code < 5; code++)
        expect_exit_code(&provider, code);
    struct sigaction after;
    ck_assert_int_eq(sigaction(SIGCHLD, NULL, &after), 0);
    ck_assert_ptr_eq((void *)after.sa_handler, (void *)SIG_IGN);
    dlclose(provider.library);
}
END_TEST

static atomic_bool stop_reaping;

static void *reap_everything(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop_reaping)) {
        if (waitpid(-1, NULL, WNOHANG) > 0)
            atomic_fetch_add(&children_seen, 1);
        (void)usleep(100);
    }
    return NULL;
}

START_TEST(host_that_reaps_every_child)
{
    pthread_t reaper;
    ck_assert_int_eq(pthread_create(&reaper, NULL, reap_everything, NULL), 0);
    struct loaded provider = load();
    for (int code = 0; code < 10; code++) {
        expect_exit_code(&provider, code);
        provider.shutdown(); /* so that each call starts a backend anew */
    }
    atomic_store(&stop_reaping, true);
    (void)pthread_join(reaper, NULL);
    dlclose(provider.library);
}
END_TEST

/* What of the process must be the same before and after. */
struct process_state {
    void (*handlers[NSIG])(int);
    int flags[NSIG];
    sigset_t mask;
    char directory[PATH_MAX];
    mode_t file_mask;
    struct rlimit limits[RLIM_NLIMITS];
    char locale[64];
    size_t environment_count;
    unsigned long environment_sum;
};

static void read_state(struct process_state *state)
{
    memset(state, 0, sizeof(*state));
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action = {0};
        (void)sigaction(number, NULL, &action);
        state->handlers[number] = action.sa_handler;
        state->flags[number] = action.sa_flags;
    }
    (void)pthread_sigmask(SIG_SETMASK, NULL, &state->mask);
    ck_assert_ptr_nonnull(getcwd(state->directory, sizeof(state->directory)));
    state->file_mask = umask(0);
    (void)umask(state->file_mask);
    for (int kind = 0; kind < RLIM_NLIMITS; kind++)
        (void)getrlimit((__rlimit_resource_t)kind, &state->limits[kind]);
    (void)snprintf(state->locale, sizeof(state->locale), "%s", setlocale(LC_ALL, NULL));
    for (char **entry = environ; *entry != NULL; entry++) {
        state->environment_count++;
        for (const char *byte = *entry; *byte != '\0'; byte++)
            state->environment_sum = state->environment_sum * 31 + (unsigned char)*byte;
    }
}

static void unusual_handler(int number)
{
    (void)number;
}

START_TEST(host_state_is_the_same_before_and_after)
{
    /* An unusual state, so that a "restored" default would show. */
    struct sigaction action = {.sa_handler = unusual_handler};
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGUSR1, &action, NULL);
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    (void)umask(0137);
    ck_assert_int_eq(chdir("/usr"), 0);

    struct process_state before;
    struct process_state after;
    read_state(&before);
    struct loaded provider = load();
    expect_exit_code(&provider, 3);
    char *output = NULL;
    struct tool_host host = permissive_host(0);
    (void)provider.invoke("code_execute",
                          "{\"language\":\"sh\",\"code\":\"sleep 5\",\"timeout_ms\":100}", &host,
                          &output);
    provider.free_text(output);
    provider.shutdown();
    read_state(&after);
    ck_assert_mem_eq(before.handlers, after.handlers, sizeof(before.handlers));
    ck_assert_mem_eq(before.flags, after.flags, sizeof(before.flags));
    ck_assert_mem_eq(&before.mask, &after.mask, sizeof(before.mask));
    ck_assert_str_eq(before.directory, after.directory);
    ck_assert_uint_eq(before.file_mask, after.file_mask);
    ck_assert_mem_eq(before.limits, after.limits, sizeof(before.limits));
    ck_assert_str_eq(before.locale, after.locale);
    ck_assert_uint_eq(before.environment_count, after.environment_count);
    ck_assert_uint_eq(before.environment_sum, after.environment_sum);
    dlclose(provider.library);
}
END_TEST

static size_t count_entries(const char *path)
{
    DIR *directory = opendir(path);
    ck_assert_ptr_nonnull(directory);
    size_t count = 0;
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count;
}

static size_t count_mappings(const char *part)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(maps);
    char line[1024];
    size_t count = 0;
    while (fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, part) != NULL;
    (void)fclose(maps);
    return count;
}

START_TEST(loading_and_unloading_leaves_nothing)
{
    /* Once, so that what libc itself keeps (locale, dlerror) is there already. */
    struct loaded first = load();
    expect_exit_code(&first, 0);
    dlclose(first.library);
    size_t descriptors = count_entries("/proc/self/fd");
    size_t threads = count_entries("/proc/self/task");
    ck_assert_uint_eq(count_mappings("code_execute"), 0);

    for (int i = 0; i < RELOADS; i++) {
        struct loaded provider = load();
        expect_exit_code(&provider, i % 256);
        ck_assert_uint_gt(count_mappings("code_execute"), 0);
        dlclose(provider.library);
    }
    ck_assert_uint_eq(count_entries("/proc/self/fd"), descriptors);
    ck_assert_uint_eq(count_entries("/proc/self/task"), threads);
    ck_assert_uint_eq(count_mappings("code_execute"), 0);
    errno = 0;
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

static void *call_repeatedly(void *argument)
{
    const struct loaded *provider = argument;
    for (int i = 0; i < 4; i++)
        expect_exit_code(provider, i);
    return NULL;
}

START_TEST(calls_from_many_threads)
{
    struct loaded provider = load();
    pthread_t threads[PARALLEL_CALLS];
    for (size_t i = 0; i < PARALLEL_CALLS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_repeatedly, &provider), 0);
    for (size_t i = 0; i < PARALLEL_CALLS; i++)
        (void)pthread_join(threads[i], NULL);
    dlclose(provider.library);
}
END_TEST

static atomic_bool output_seen;

static void note_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    (void)user;
    (void)stream;
    (void)bytes;
    (void)length;
    atomic_store(&output_seen, true);
}

static void *cancel_after_output(void *argument)
{
    const struct loaded *provider = argument;
    while (!atomic_load(&output_seen))
        (void)usleep(1000);
    ck_assert_int_eq(provider->cancel(4711), TOOL_ACCEPTED);
    ck_assert_int_ne(provider->cancel(4712), TOOL_ACCEPTED);
    return NULL;
}

START_TEST(cancel_ends_a_running_call)
{
    struct loaded provider = load();
    struct tool_host host = permissive_host(4711);
    host.on_output = note_output;
    pthread_t canceller;
    ck_assert_int_eq(pthread_create(&canceller, NULL, cancel_after_output, &provider), 0);
    char *output = NULL;
    ck_assert_int_eq(provider.invoke("code_execute",
                                     "{\"language\":\"sh\",\"code\":\"echo before; sleep 30\"}",
                                     &host, &output),
                     TOOL_OK);
    (void)pthread_join(canceller, NULL);
    json_t *result = json_loads(output, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(result, "status")), "cancelled");
    ck_assert_str_eq(json_string_value(json_object_get(result, "cause")), "cancelled");
    ck_assert_str_eq(json_string_value(json_object_get(result, "stdout")), "before\n");
    json_decref(result);
    provider.free_text(output);
    ck_assert_int_eq(provider.cancel(4711), TOOL_UNKNOWN);
    dlclose(provider.library);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("hosts");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, host_with_its_own_sigchld_handler);
    tcase_add_test(cases, host_that_ignores_sigchld);
    tcase_add_test(cases, host_that_reaps_every_child);
    tcase_add_test(cases, host_state_is_the_same_before_and_after);
    tcase_add_test(cases, loading_and_unloading_leaves_nothing);
    tcase_add_test(cases, calls_from_many_threads);
    tcase_add_test(cases, cancel_ends_a_running_call);
    return run_suite("host processes", &cases, 1);
}
