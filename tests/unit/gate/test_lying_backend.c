/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backends that lie, fall silent and flood (fake_backend.c), each beside a copy of the plugin of
 * its own, all at once: the slow ones wait for the same seconds. A result with a clear error in
 * bounded time, the output until then, a shutdown that ends, a next call that works, and nothing
 * left behind in the gateway, which is this process. CODE_EXECUTE_SO and FAKE_BACKEND are paths.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "permissive_host.h"
#include "tap_suite.h"
#include "tool_provider.h"

#define PATH_SIZE 1024 /* of ours; a longer one is cut, and then not found */
/* The machine may be busy; without limits these would be minutes or for ever. */
#define SLACK_MS 10000

static const struct {
    const char *name;
    const char *error; /* NULL: completed */
    uint64_t within_ms;
    bool prints; /* the trial went well, and there was output */
    bool starts; /* and STARTED came; a backend that is lost before that leaves it open */
    bool cancel;
    bool replaced;    /* the next call gets another one, without a shutdown in between */
    const char *pool; /* what is known after its call of what it has ready */
} cases[] = {
    {"behaves-well", NULL, 0, true, true, false, false, "answered"},
    {"keeps-pipes-open", NULL, 0, true, true, false, false, "answered"},
    {"floods-after-end", NULL, 0, true, true, false, false, "answered"},
    {"outlives-its-host", NULL, 0, true, true, false, false, "answered"},
    {"exits-at-once", "backend_unavailable", 0, false, false, false, false, "stopped"},
    {"is-of-another-version", "backend_unavailable", 0, false, false, false, false, "stopped"},
    {"says-half-a-hello", "backend_unavailable", 0, false, false, false, false, "stopped"},
    {"says-it-is-the-host", "backend_unavailable", 0, false, false, false, false, "stopped"},
    {"never-says-hello", "backend_unavailable", 10000, false, false, false, false, "stopped"},
    {"never-leaves-its-parent", "backend_unavailable", 10000, false, false, false, false,
     "stopped"},
    {"never-answers", "backend_failed", 20000, false, false, false, true, "stopped"},
    {"closes-its-socket", "backend_failed", 0, true, true, false, false, "answered"},
    {"sends-garbage", "backend_failed", 0, true, true, false, false, "answered"},
    {"sends-too-much", "backend_failed", 0, true, true, false, false, "answered"},
    {"sends-descriptors", "backend_failed", 0, true, true, false, false, "answered"},
    {"starts-again-and-again", "backend_failed", 0, true, true, false, false, "answered"},
    {"ends-without-start", "backend_failed", 0, true, false, false, false, "answered"},
    {"finds-no-program", "runtime_not_found", 0, true, false, false, false, "answered"},
    {"ends-before-its-start", "cancelled", 0, true, true, true, false, "answered"},
    {"lies-about-exit-code", "backend_failed", 0, true, true, false, false, "answered"},
    {"lies-about-signal", "backend_failed", 0, true, true, false, false, "answered"},
    {"lies-about-cause", "backend_failed", 0, true, true, false, false, "answered"},
    {"lies-about-usage", "backend_failed", 0, true, true, false, false, "answered"},
    {"exits-without-code", "backend_failed", 0, true, true, false, false, "answered"},
    {"dies", "backend_failed", 0, true, true, false, false, "stopped"},
    {"dies-before-it-tells", "backend_failed", 0, true, false, false, false, "stopped"},
    {"never-ends", "backend_failed", 2500, true, true, false, false, "answered"},
    {"floods-without-end", "backend_failed", 2500, true, true, false, false, "answered"},
    {"never-ends", "backend_failed", 2500, true, true, true, false, "answered"},
    {"lies-about-pools", NULL, 0, true, true, false, false, "silent"},
    {"says-too-much-about-pools", NULL, 0, true, true, false, false, "silent"},
    {"says-too-little-about-pools", NULL, 0, true, true, false, false, "silent"},
    {"sends-descriptors-about-pools", NULL, 0, true, true, false, false, "silent"},
    {"says-nothing-of-pools", NULL, 0, true, true, false, false, "silent"},
    {"closes-when-asked-about-pools", NULL, 0, true, true, false, false, "silent"},
};

/* What one backend led to, found out by its thread and judged by its test. */
struct finding {
    char directory[PATH_SIZE];
    void *library;
    int32_t code;
    json_t *result;
    uint64_t took_ms;
    size_t told; /* how often it was told that it takes long */
    json_t *pools;
    uint64_t asked_ms;
    uint64_t shutdown_ms;
    int32_t next_code;
    json_t *next_result;
};

static struct finding findings[COUNT_OF(cases)];
static char root[PATH_SIZE / 2];
static size_t descriptors_before;
static size_t descriptors_after;
static size_t threads_before;
static size_t threads_after;
static bool silent_at_start;
static uint64_t asked_at_start_ms;
static bool child_left;
static bool process_left;

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        (void)closedir(directory);
    return count;
}

static bool copy_program(const char *from, const char *directory, const char *name)
{
    char to[PATH_SIZE + 64];
    struct stat status;
    (void)snprintf(to, sizeof(to), "%s/%s", directory, name);
    CLEANUP_CLOSE int input = from != NULL ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    CLEANUP_CLOSE int output = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (input < 0 || output < 0 || fstat(input, &status) != 0)
        return false;
    for (off_t done = 0; done < status.st_size;)
        if (sendfile(output, input, &done, (size_t)(status.st_size - done)) <= 0)
            return false;
    return true;
}

struct canceller {
    int32_t (*cancel)(uint64_t call_id);
    uint64_t call_id;
    bool cancels;
    size_t told;
};

/* As soon as there is output: the run is under way. */
static void take_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct canceller *canceller = user;
    (void)bytes;
    (void)length;
    if (stream == TOOL_STREAM_PROGRESS)
        canceller->told++;
    else if (canceller->cancels)
        (void)canceller->cancel(canceller->call_id);
}

static int32_t call(void *library, bool cancel, size_t *ret_told, json_t **ret_result)
{
    tool_invoke_fn invoke = (tool_invoke_fn)dlsym(library, "tool_invoke");
    tool_free_fn free_text = (tool_free_fn)dlsym(library, "tool_free");
    struct canceller canceller = {(tool_cancel_fn)dlsym(library, "tool_cancel"), 3, cancel, 0};
    const struct tool_host host = {
        .struct_size = sizeof(host),
        .abi_version = TOOL_ABI_VERSION,
        .user = &canceller,
        .call_id = 3,
        .check_capability = grant,
        .request_approval = approve,
        .audit = grant,
        .on_output = take_output,
    };
    /* A cancelled call has time enough not to be ended by its deadline. */
    const char *input = cancel ? "{\"language\":\"sh\",\"code\":\"true\",\"timeout_ms\":9000}"
                               : "{\"language\":\"sh\",\"code\":\"true\",\"timeout_ms\":500}";
    char *output = NULL;
    int32_t code = invoke("code_execute", input, &host, &output);
    *ret_result = output != NULL ? json_loads(output, 0, NULL) : NULL;
    free_text(output);
    *ret_told = canceller.told;
    return code;
}

static const char *text_of(const json_t *result, const char *name)
{
    const char *text = json_string_value(json_object_get(result, name));
    return text != NULL ? text : "(none)";
}

static json_t *ask_for_pools(void *library)
{
    tool_prepare_fn prepare = (tool_prepare_fn)dlsym(library, "tool_prepare");
    tool_free_fn free_text = (tool_free_fn)dlsym(library, "tool_free");
    char *text = NULL;
    (void)prepare("{\"counters\":true}", &text);
    json_auto_t *answer = text != NULL ? json_loads(text, 0, NULL) : NULL;
    free_text(text);
    return json_incref(json_object_get(answer, "pools"));
}

#define PROCESS_POOL 2 /* behind those of docker and kubernetes */

/* The state of process mode's. */
static const char *pool_state(const json_t *pools)
{
    return text_of(json_array_get(pools, PROCESS_POOL), "state");
}

/* One that answers may be late on a machine that is busy. */
static void ask_about_pools(void *library, size_t index)
{
    struct finding *finding = &findings[index];
    for (int i = 0; i < 40; i++) {
        uint64_t begin = monotonic_ms();
        json_decref(finding->pools);
        finding->pools = ask_for_pools(library);
        uint64_t took = monotonic_ms() - begin;
        finding->asked_ms = took > finding->asked_ms ? took : finding->asked_ms;
        if (strcmp(pool_state(finding->pools), cases[index].pool) == 0)
            return;
    }
}

static void play_with(void *library, size_t index)
{
    struct finding *finding = &findings[index];
    tool_shutdown_fn shutdown = (tool_shutdown_fn)dlsym(library, "tool_shutdown");
    uint64_t begin = monotonic_ms();
    size_t told = 0;
    finding->code = call(library, cases[index].cancel, &finding->told, &finding->result);
    uint64_t end = monotonic_ms();
    finding->took_ms = end - begin;
    ask_about_pools(library, index);
    end = monotonic_ms();
    if (!cases[index].replaced)
        shutdown();
    finding->shutdown_ms = monotonic_ms() - end;

    char recovered[PATH_SIZE + 16];
    (void)snprintf(recovered, sizeof(recovered), "%.*s/recovered", PATH_SIZE, finding->directory);
    close_fd(open(recovered, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    finding->next_code = call(library, false, &told, &finding->next_result);
    shutdown();
}

static void *play(void *user)
{
    struct finding *finding = user;
    play_with(finding->library, (size_t)(finding - findings));
    return NULL;
}

/* Beside the call that waits for the backend's hello: until the question meets that wait. */
static void ask_at_start(void *library)
{
    for (int i = 0; i < 5000 && !silent_at_start; i++) {
        uint64_t begin = monotonic_ms();
        json_auto_t *pools = ask_for_pools(library);
        silent_at_start = strcmp(pool_state(pools), "silent") == 0;
        asked_at_start_ms = monotonic_ms() - begin;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static size_t index_of(const char *name)
{
    size_t index = 0;
    while (strcmp(cases[index].name, name) != 0)
        index++;
    return index;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static void load(struct finding *finding)
{
    char path[PATH_SIZE + 64];
    (void)snprintf(path, sizeof(path), "%.*s/code_execute.so", PATH_SIZE, finding->directory);
    finding->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(finding->library != NULL, "%s", dlerror());
}

/* Before any thread: a copy that is open for writing while another thread forks cannot be executed
 * (ETXTBSY). */
static void make_directories(void)
{
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(root, sizeof(root), "%s/lying-backend-XXXXXX",
                   temporary != NULL ? temporary : P_tmpdir);
    ck_assert_ptr_nonnull(mkdtemp(root));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *directory = findings[i].directory;
        (void)snprintf(directory, PATH_SIZE, "%s/%zu", root, i);
        ck_assert_int_eq(mkdir(directory, 0700), 0);
        (void)snprintf(directory, PATH_SIZE, "%s/%zu/%.100s", root, i, cases[i].name);
        ck_assert_int_eq(mkdir(directory, 0700), 0);
        ck_assert(copy_program(getenv("CODE_EXECUTE_SO"), directory, "code_execute.so"));
        ck_assert(copy_program(getenv("FAKE_BACKEND"), directory, "code-execute-process"));
    }
}

/* Does any process run a program of ours? It may take a moment to end. */
static bool is_process_left(void)
{
    bool left = false;
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && !left;) {
        char link[PATH_MAX];
        char program[PATH_MAX];
        (void)snprintf(link, sizeof(link), "/proc/%.20s/exe", entry->d_name);
        ssize_t length = readlink(link, program, sizeof(program));
        left = length > (ssize_t)strlen(root) && memcmp(program, root, strlen(root)) == 0;
    }
    (void)closedir(directory);
    return left;
}

static void look_around(void)
{
    descriptors_after = count_entries("/proc/self/fd");
    child_left = waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
    process_left = true;
    threads_after = threads_before + 1;
    for (int i = 0; i < 50 && (process_left || threads_after != threads_before); i++) {
        process_left = is_process_left();
        threads_after =
            count_entries("/proc/self/task"); /* a joined thread may show for a moment */
        if (i > 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

static void play_all(void)
{
    pthread_t threads[COUNT_OF(cases)];
    make_directories();
    void *warm =
        dlopen(findings[0].directory, RTLD_NOW); /* fails; the loader has its descriptors */
    ck_assert_ptr_null(warm);
    /* A sanitizer starts its own thread with the first. */
    ck_assert_int_eq(pthread_create(&threads[0], NULL, do_nothing, NULL), 0);
    (void)pthread_join(threads[0], NULL);
    descriptors_before = count_entries("/proc/self/fd");
    threads_before = count_entries("/proc/self/task");
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        load(&findings[i]);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, play, &findings[i]), 0);
    ask_at_start(findings[index_of("never-says-hello")].library);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        (void)pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        (void)dlclose(findings[i].library);
    look_around();
}

static void remove_all(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static const char *const names[] = {"code_execute.so", "code-execute-process", "recovered"};
        char path[PATH_SIZE + 64];
        for (size_t j = 0; j < COUNT_OF(names); j++) {
            (void)snprintf(path, sizeof(path), "%.*s/%s", PATH_SIZE, findings[i].directory,
                           names[j]);
            (void)unlink(path);
        }
        (void)rmdir(findings[i].directory);
        (void)snprintf(path, sizeof(path), "%s/%zu", root, i);
        (void)rmdir(path);
        json_decref(findings[i].result);
        json_decref(findings[i].next_result);
        json_decref(findings[i].pools);
    }
    (void)rmdir(root);
}

static void expect_layers(const json_t *result, bool starts)
{
    json_t *isolation = json_object_get(result, "isolation");
    json_t *applied = json_object_get(isolation, "applied");
    if (starts)
        ck_assert_str_eq(json_string_value(json_array_get(applied, 0)), "seccomp");
    else
        ck_assert_uint_eq(json_array_size(applied), 0);
    ck_assert(starts || json_array_size(json_object_get(isolation, "missing")) == 0);
}

START_TEST(is_answered_clearly)
{
    const struct finding *finding = &findings[_i];
    ck_assert_ptr_nonnull(finding->result);
    json_t *error = json_object_get(finding->result, "error");
    bool may_have_run = cases[_i].starts || strcmp(cases[_i].name, "dies-before-it-tells") == 0;
    ck_assert_int_eq(finding->code, may_have_run ? TOOL_OK : TOOL_NOT_RUN);
    if (cases[_i].error == NULL) {
        ck_assert_str_eq(text_of(finding->result, "status"), "completed");
        ck_assert(json_is_null(error));
    } else {
        ck_assert_str_eq(text_of(error, "code"), cases[_i].error);
        const char *status = strcmp(cases[_i].error, "cancelled") == 0 ? "cancelled" : "error";
        ck_assert_str_eq(text_of(finding->result, "status"), status);
        ck_assert(json_is_null(json_object_get(finding->result, "exit_code")));
    }
    ck_assert_uint_le(finding->took_ms, cases[_i].within_ms + SLACK_MS);
    const char *output = text_of(finding->result, "stdout");
    ck_assert_int_eq(strncmp(output, "partial\n", 8) == 0, cases[_i].prints);
    expect_layers(finding->result, cases[_i].starts);
}
END_TEST

/* A trial and a run can each be slow, on a machine that is busy. */
START_TEST(is_told_that_it_takes_long)
{
    const struct finding *finding = &findings[_i];
    bool hangs = strcmp(cases[_i].name, "never-answers") == 0;
    ck_assert_uint_ge(finding->told, hangs ? 1 : 0);
    ck_assert_uint_le(finding->told, finding->took_ms < 3000 ? 0 : 2);
}
END_TEST

/* Of those of docker and kubernetes, which are not there, and of this one. */
START_TEST(is_not_believed_what_cannot_be)
{
    const struct finding *finding = &findings[_i];
    ck_assert_uint_eq(json_array_size(finding->pools), 3);
    json_t *pool = json_array_get(finding->pools, PROCESS_POOL);
    json_t *rows = json_object_get(pool, "sandboxes");
    json_t *first = json_array_get(rows, 0);
    ck_assert_str_eq(text_of(json_array_get(finding->pools, 0), "state"), "stopped");
    ck_assert_str_eq(text_of(pool, "backend"), "process");
    ck_assert_str_eq(pool_state(finding->pools), cases[_i].pool);
    bool answered = strcmp(cases[_i].pool, "answered") == 0;
    bool silent = strcmp(cases[_i].pool, "silent") == 0;
    ck_assert_uint_eq(json_array_size(rows), silent ? 0 : 3);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "ready")), answered ? 1 : 0);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "wanted")), answered ? 2 : 0);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "memory_bytes")), answered ? 3 : 0);
    ck_assert_uint_le(finding->asked_ms, 250 + SLACK_MS);
}
END_TEST

START_TEST(does_not_spoil_the_next_call)
{
    const struct finding *finding = &findings[_i];
    ck_assert_uint_le(finding->shutdown_ms, 5000 + SLACK_MS);
    ck_assert_int_eq(finding->next_code, TOOL_OK);
    ck_assert_str_eq(text_of(finding->next_result, "status"), "completed");
    ck_assert_str_eq(text_of(finding->next_result, "stdout"), "partial\n");
}
END_TEST

/* Its hello is waited for for ten seconds. */
START_TEST(is_not_waited_for_while_it_starts)
{
    ck_assert(silent_at_start);
    ck_assert_uint_ge(asked_at_start_ms, 250);
    ck_assert_uint_le(asked_at_start_ms, 5000);
}
END_TEST

START_TEST(nothing_is_left_in_the_gateway)
{
    ck_assert_uint_eq(descriptors_after, descriptors_before);
    ck_assert_uint_eq(threads_after, threads_before);
    ck_assert(!child_left);
    ck_assert(!process_left);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("lying_backend");
    TCase *const suite[] = {all};
    tcase_add_unchecked_fixture(all, play_all, remove_all);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, is_answered_clearly, 0, COUNT_OF(cases));
    tcase_add_loop_test(all, is_told_that_it_takes_long, 0, COUNT_OF(cases));
    tcase_add_loop_test(all, is_not_believed_what_cannot_be, 0, COUNT_OF(cases));
    tcase_add_loop_test(all, does_not_spoil_the_next_call, 0, COUNT_OF(cases));
    tcase_add_test(all, is_not_waited_for_while_it_starts);
    tcase_add_test(all, nothing_is_left_in_the_gateway);
    return run_suite("lying_backend", suite, COUNT_OF(suite));
}
