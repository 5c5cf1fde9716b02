/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway that forks without exec while its threads are inside the provider, as daemon helpers
 * and prefork servers do. The child has its answers within bounds, and the parent's runs end as if
 * there were no child. Every case runs in its own process (Check forks), which is the gateway; the
 * plugin's path is in CODE_EXECUTE_SO.
 */
#include <dlfcn.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "permissive_host.h"
#include "sanitizers.h"
#include "tap_suite.h"
#include "tool_provider.h"

#define PARENT_CALL    4711
#define CHILD_LIMIT_MS 60000 /* a child that takes longer hangs */
#define BUSY_THREADS   4
#define BUSY_FORKS     40

static struct {
    void *library;
    tool_manifest_fn manifest;
    tool_invoke_fn invoke;
    tool_free_fn free_text;
    tool_cancel_fn cancel;
    tool_reply_approval_fn reply;
    tool_prepare_fn prepare;
    tool_shutdown_fn shutdown;
} provider;

static void *symbol(const char *name)
{
    void *found = dlsym(provider.library, name);
    ck_assert_msg(found != NULL, "no symbol %s", name);
    return found;
}

static void load(void)
{
    const char *path = getenv("CODE_EXECUTE_SO");
    ck_assert_msg(path != NULL, "CODE_EXECUTE_SO is not set");
    (void)setenv("CODE_EXEC_SANDBOX", "process", 1);
    provider.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(provider.library != NULL, "%s", dlerror());
    provider.manifest = (tool_manifest_fn)symbol("tool_manifest");
    provider.invoke = (tool_invoke_fn)symbol("tool_invoke");
    provider.free_text = (tool_free_fn)symbol("tool_free");
    provider.cancel = (tool_cancel_fn)symbol("tool_cancel");
    provider.reply = (tool_reply_approval_fn)symbol("tool_reply_approval");
    provider.prepare = (tool_prepare_fn)symbol("tool_prepare");
    provider.shutdown = (tool_shutdown_fn)symbol("tool_shutdown");
}

/* The exit code of a run that completed; -1 of any other end. */
static int invoke(const char *code, const struct tool_host *host)
{
    char input[160];
    char *output = NULL;
    (void)snprintf(input, sizeof(input), "{\"language\":\"sh\",\"code\":\"%s\"}", code);
    (void)provider.invoke("code_execute", input, host, &output);
    json_t *result = output ? json_loads(output, 0, NULL) : NULL;
    const char *status = json_string_value(json_object_get(result, "status"));
    bool completed = status && strcmp(status, "completed") == 0;
    int exit_code = completed ? (int)json_integer_value(json_object_get(result, "exit_code")) : -1;
    if (!completed)
        (void)fprintf(stderr, "not completed: %s\n", output ? output : "no result");
    json_decref(result);
    provider.free_text(output);
    return exit_code;
}

static int invoke_exit(int exit_code)
{
    char code[32];
    struct tool_host host = permissive_host(0);
    (void)snprintf(code, sizeof(code), "exit %d", exit_code);
    return invoke(code, &host);
}

/* --- A run of the parent's that is under way while the children live --- */

static atomic_bool started;

static void note_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    (void)user;
    (void)stream;
    (void)bytes;
    (void)length;
    atomic_store(&started, true);
}

static void *run_for_a_while(void *ret_exit_code)
{
    struct tool_host host = permissive_host(PARENT_CALL);
    host.on_output = note_output;
    *(int *)ret_exit_code = invoke("echo started; sleep 3; exit 7", &host);
    return NULL;
}

static void begin_run(pthread_t *ret_thread, int *ret_exit_code)
{
    ck_assert_int_eq(pthread_create(ret_thread, NULL, run_for_a_while, ret_exit_code), 0);
    while (!atomic_load(&started))
        (void)usleep(1000);
}

static void expect_undisturbed(pthread_t thread, const int *exit_code)
{
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(*exit_code, 7);
}

/* --- Children --- */

static void expect_end(pid_t child)
{
    int status = 0;
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    ck_assert_int_ge(pidfd, 0);
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    int ready = poll(&ended, 1, CHILD_LIMIT_MS);
    if (ready != 1)
        (void)kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    (void)close(pidfd);
    ck_assert_msg(ready == 1, "the child hangs");
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed: status %x",
                  (unsigned int)status);
}

static pid_t fork_child(void (*work)(void))
{
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0)
        return child;
    work();
    exit(EXIT_SUCCESS); /* with the destructor of the provider, where it is still loaded */
}

/* In a child an assertion of Check's would run the parent's cases on. */
static void expect_in_child(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "in the child: %s\n", what);
    _exit(EXIT_FAILURE);
}

static void do_nothing(void)
{
}

START_TEST(child_that_only_exits)
{
    pthread_t thread;
    int exit_code = -1;
    load();
    begin_run(&thread, &exit_code);
    expect_end(fork_child(do_nothing));
    expect_undisturbed(thread, &exit_code);
    ck_assert_int_eq(invoke_exit(4), 4);
    dlclose(provider.library);
}
END_TEST

static void unload(void)
{
    expect_in_child(dlclose(provider.library) == 0, "dlclose");
}

START_TEST(child_that_unloads)
{
    pthread_t thread;
    int exit_code = -1;
    load();
    begin_run(&thread, &exit_code);
    expect_end(fork_child(unload));
    expect_undisturbed(thread, &exit_code);
    dlclose(provider.library);
}
END_TEST

static void shut_down(void)
{
    provider.shutdown();
}

START_TEST(child_that_shuts_down)
{
    pthread_t thread;
    int exit_code = -1;
    load();
    begin_run(&thread, &exit_code);
    expect_end(fork_child(shut_down));
    expect_undisturbed(thread, &exit_code);
    dlclose(provider.library);
}
END_TEST

static json_int_t calls_under_way(void)
{
    char *status = NULL;
    int32_t code = provider.prepare("{\"counters\":true}", &status);
    json_t *json = code == TOOL_OK ? json_loads(status, 0, NULL) : NULL;
    const json_t *count = json_object_get(json_object_get(json, "counters"), "calls_under_way");
    json_int_t value = json_is_integer(count) ? json_integer_value(count) : -1;
    json_decref(json);
    provider.free_text(status);
    return value;
}

static void use_everything(void)
{
    expect_in_child(provider.cancel(PARENT_CALL) == TOOL_UNKNOWN, "a call of the parent's");
    expect_in_child(provider.reply(1, "{\"decision\":\"deny\"}") == TOOL_UNKNOWN, "a token");
    expect_in_child(strstr(provider.manifest(), "code_execute") != NULL, "the manifest");
    expect_in_child(calls_under_way() == 0, "calls under way");
    expect_in_child(invoke_exit(3) == 3, "a call of its own");
    expect_in_child(provider.cancel(PARENT_CALL) == TOOL_UNKNOWN, "a call of the parent's");
    provider.shutdown();
    expect_in_child(invoke_exit(5) == 5, "a call after its shutdown");
}

START_TEST(child_that_uses_everything)
{
    pthread_t thread;
    int exit_code = -1;
    load();
    begin_run(&thread, &exit_code);
    expect_end(fork_child(use_everything));
    ck_assert_int_eq(provider.cancel(PARENT_CALL + 1), TOOL_UNKNOWN);
    expect_undisturbed(thread, &exit_code);
    dlclose(provider.library);
}
END_TEST

static void *call_own(void *ret)
{
    *(int *)ret = invoke_exit(9);
    return NULL;
}

static void call_from_threads(void)
{
    pthread_t threads[BUSY_THREADS];
    int exit_codes[BUSY_THREADS] = {0};
    for (size_t i = 0; i < BUSY_THREADS; i++)
        expect_in_child(pthread_create(&threads[i], NULL, call_own, &exit_codes[i]) == 0, "thread");
    for (size_t i = 0; i < BUSY_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        expect_in_child(exit_codes[i] == 9, "a call from a thread");
    }
}

static void fork_again(void)
{
    expect_in_child(invoke_exit(2) == 2, "a call of its own");
    pid_t grandchild = fork_child(call_from_threads);
    int status = -1;
    expect_in_child(waitpid(grandchild, &status, 0) == grandchild && status == 0, "a grandchild");
    expect_in_child(invoke_exit(2) == 2, "a call behind the grandchild's end");
}

START_TEST(child_that_forks_again)
{
    pthread_t thread;
    int exit_code = -1;
    load();
    begin_run(&thread, &exit_code);
    expect_end(fork_child(fork_again));
    expect_undisturbed(thread, &exit_code);
    dlclose(provider.library);
}
END_TEST

/* Threads that hold each of the provider's locks at some time. */
static atomic_bool is_over;

static void *keep_busy(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        (void)provider.cancel(1);
        (void)provider.reply(1, "{}");
        (void)calls_under_way();
    }
    return NULL;
}

static void ask(void)
{
    expect_in_child(provider.cancel(PARENT_CALL) == TOOL_UNKNOWN, "a call of the parent's");
    expect_in_child(calls_under_way() == 0, "calls under way");
}

START_TEST(forks_at_any_moment)
{
    pthread_t busy[BUSY_THREADS];
    pthread_t thread;
    int exit_code = -1;
    load();
    begin_run(&thread, &exit_code);
    for (size_t i = 0; i < BUSY_THREADS; i++)
        ck_assert_int_eq(pthread_create(&busy[i], NULL, keep_busy, NULL), 0);
    for (int i = 0; i < BUSY_FORKS; i++)
        expect_end(fork_child(ask));
    atomic_store(&is_over, true);
    for (size_t i = 0; i < BUSY_THREADS; i++)
        (void)pthread_join(busy[i], NULL);
    expect_undisturbed(thread, &exit_code);
    dlclose(provider.library);
}
END_TEST

static void call_under_the_parents_policy(void)
{
    expect_in_child(invoke_exit(6) == -1, "a call that the parent's policy refuses");
}

START_TEST(child_keeps_the_configuration)
{
    char path[] = "/tmp/test-forking-gateway-XXXXXX";
    char config[128];
    int fd = mkstemp(path);
    static const char policy[] = "{\"approval\":{\"default\":\"deny\"}}";
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, policy, strlen(policy)), (int)strlen(policy));
    (void)close(fd);
    load();
    (void)snprintf(config, sizeof(config), "{\"policy_file\":\"%s\"}", path);
    int32_t code = provider.prepare(config, NULL);
    (void)unlink(path);
    ck_assert_int_eq(code, TOOL_OK);
    expect_end(fork_child(call_under_the_parents_policy));
    /* The control: it is this policy that refuses. */
    provider.shutdown();
    ck_assert_int_eq(invoke_exit(6), 6);
    dlclose(provider.library);
}
END_TEST

/* A sanitizer's allocator has no handlers for fork(), as glibc's has: a child of a process whose
 * other threads allocate at that moment waits for their lock for ever. */
static const bool children_can_allocate = !UNDER_ADDRESS_SANITIZER && !UNDER_THREAD_SANITIZER;

int main(void)
{
    TCase *cases = tcase_create("forking gateway");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, child_that_only_exits);
    tcase_add_test(cases, child_that_unloads);
    tcase_add_test(cases, child_that_shuts_down);
    tcase_add_test(cases, child_that_uses_everything);
    tcase_add_test(cases, child_that_forks_again);
    if (children_can_allocate)
        tcase_add_test(cases, forks_at_any_moment);
    tcase_add_test(cases, child_keeps_the_configuration);
    return run_suite("forking gateway", &cases, 1);
}
