/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway with many threads, in process mode: calls, answers to approval requests from other
 * threads, cancellations, questions about the state, and shutdowns in the middle of it all. Each
 * call gets its own result. What ThreadSanitizer and helgrind look at, as an ordinary test too; the
 * plugin's path is in CODE_EXECUTE_SO.
 */
#include <dlfcn.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "permissive_host.h"
#include "tap_suite.h"
#include "tool_provider.h"

#define CALLERS      16
#define CALLS        6 /* of each */
#define ANSWERERS    2
#define QUEUE_LIMIT  (2 * CALLERS * CALLS)
#define MIDDLE_PAUSE 20000 /* us between shutdowns */

static struct {
    void *library;
    tool_invoke_fn invoke;
    tool_free_fn free_text;
    tool_cancel_fn cancel;
    tool_reply_approval_fn reply;
    tool_status_fn status;
    tool_shutdown_fn shutdown;
} provider;

/* What one thread gives others to do. */
struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t items[QUEUE_LIMIT];
    size_t head, tail;
    bool closed;
};

static struct queue questions = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .changed = PTHREAD_COND_INITIALIZER};
static struct queue to_cancel = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .changed = PTHREAD_COND_INITIALIZER};

static void put(struct queue *queue, uint64_t item)
{
    (void)pthread_mutex_lock(&queue->mutex);
    if (queue->tail < QUEUE_LIMIT)
        queue->items[queue->tail++] = item;
    (void)pthread_cond_signal(&queue->changed);
    (void)pthread_mutex_unlock(&queue->mutex);
}

/* false: closed and empty. */
static bool take(struct queue *queue, uint64_t *ret)
{
    (void)pthread_mutex_lock(&queue->mutex);
    while (queue->head == queue->tail && !queue->closed)
        (void)pthread_cond_wait(&queue->changed, &queue->mutex);
    bool found = queue->head < queue->tail;
    if (found)
        *ret = queue->items[queue->head++];
    (void)pthread_mutex_unlock(&queue->mutex);
    return found;
}

static void close_queue(struct queue *queue)
{
    (void)pthread_mutex_lock(&queue->mutex);
    queue->closed = true;
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->mutex);
}

/* --- The host --- */

struct caller {
    uint64_t call_id;
    bool is_asked_to_cancel;
};

static void ask_others(void *user, uint64_t token, const char *request, uint32_t *verdict)
{
    (void)user;
    (void)request;
    *verdict = TOOL_VERDICT_LATER;
    put(&questions, token);
}

static void note_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct caller *caller = user;
    (void)stream;
    (void)bytes;
    (void)length;
    if (caller->call_id != 0 && !caller->is_asked_to_cancel)
        put(&to_cancel, caller->call_id);
    caller->is_asked_to_cancel = true;
}

static struct tool_host host_of(struct caller *caller)
{
    return (struct tool_host){
        .struct_size = sizeof(struct tool_host),
        .abi_version = TOOL_ABI_VERSION,
        .user = caller,
        .call_id = caller->call_id,
        .check_capability = grant,
        .request_approval = ask_others,
        .audit = grant,
        .on_output = note_output,
    };
}

static void *answer(void *unused)
{
    uint64_t token;
    (void)unused;
    while (take(&questions, &token))
        (void)provider.reply(token, "{\"decision\":\"allow_once\",\"approver\":\"a thread\"}");
    return NULL;
}

static void *cancel(void *unused)
{
    uint64_t call_id;
    (void)unused;
    while (take(&to_cancel, &call_id))
        (void)provider.cancel(call_id);
    return NULL;
}

/* --- The callers --- */

static atomic_uint wrong;
static atomic_bool is_calm; /* nobody shuts down meanwhile */

static void complain(const char *what, const char *output)
{
    (void)fprintf(stderr, "%s: %s\n", what, output ? output : "no result");
    atomic_fetch_add(&wrong, 1);
}

static void check_result(const char *output, int code, const char *status, json_int_t exit_code)
{
    json_t *result = output ? json_loads(output, 0, NULL) : NULL;
    const char *found = json_string_value(json_object_get(result, "status"));
    if (!found || (code != TOOL_OK && code != TOOL_NOT_RUN))
        complain("not a result", output);
    else if (atomic_load(&is_calm) && strcmp(found, status) != 0)
        complain("another end", output);
    else if (strcmp(found, "completed") == 0 &&
             json_integer_value(json_object_get(result, "exit_code")) != exit_code)
        complain("another's exit code", output);
    json_decref(result);
}

static void call_and_end(int exit_code)
{
    struct caller caller = {.call_id = 0};
    struct tool_host host = host_of(&caller);
    char input[96];
    char *output = NULL;
    (void)snprintf(input, sizeof(input), "{\"language\":\"sh\",\"code\":\"echo %d; exit %d\"}",
                   exit_code, exit_code);
    int code = provider.invoke("code_execute", input, &host, &output);
    check_result(output, code, "completed", exit_code);
    provider.free_text(output);
}

static void call_and_be_cancelled(void)
{
    static atomic_uint_fast64_t last_id = 1000;
    struct caller caller = {.call_id = atomic_fetch_add(&last_id, 1)};
    struct tool_host host = host_of(&caller);
    char *output = NULL;
    int code = provider.invoke("sandbox.exec",
                               "{\"runtime\":\"sh\",\"code\":\"echo before; sleep 20\","
                               "\"timeout_ms\":25000}",
                               &host, &output);
    check_result(output, code, "cancelled", -1);
    provider.free_text(output);
}

static void ask_for_the_state(void)
{
    char *status = NULL;
    if (provider.status(&status) != TOOL_OK)
        complain("no state", status);
    provider.free_text(status);
}

static void *call(void *argument)
{
    const int *number = argument;
    for (int i = 0; i < CALLS; i++) {
        int kind = (*number + i) % 6;
        if (kind == 0)
            call_and_be_cancelled();
        else if (kind == 1)
            ask_for_the_state();
        else
            call_and_end((*number * CALLS + i) % 200);
    }
    return NULL;
}

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
    provider.invoke = (tool_invoke_fn)symbol("tool_invoke");
    provider.free_text = (tool_free_fn)symbol("tool_free");
    provider.cancel = (tool_cancel_fn)symbol("tool_cancel");
    provider.reply = (tool_reply_approval_fn)symbol("tool_reply_approval");
    provider.status = (tool_status_fn)symbol("tool_status");
    provider.shutdown = (tool_shutdown_fn)symbol("tool_shutdown");
}

static void start(pthread_t *thread, void *(*work)(void *argument), void *argument)
{
    ck_assert_int_eq(pthread_create(thread, NULL, work, argument), 0);
}

static atomic_bool is_over;

static void *shut_down_again_and_again(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        (void)usleep(MIDDLE_PAUSE);
        provider.shutdown();
    }
    return NULL;
}

static void run_gateway(bool calm)
{
    static int numbers[CALLERS];
    pthread_t callers[CALLERS];
    pthread_t answerers[ANSWERERS];
    pthread_t canceller;
    pthread_t disturber;
    load();
    atomic_store(&is_calm, calm);
    for (size_t i = 0; i < ANSWERERS; i++)
        start(&answerers[i], answer, NULL);
    start(&canceller, cancel, NULL);
    if (!calm)
        start(&disturber, shut_down_again_and_again, NULL);
    for (int i = 0; i < CALLERS; i++) {
        numbers[i] = i;
        start(&callers[i], call, &numbers[i]);
    }
    for (size_t i = 0; i < CALLERS; i++)
        (void)pthread_join(callers[i], NULL);
    atomic_store(&is_over, true);
    if (!calm)
        (void)pthread_join(disturber, NULL);
    close_queue(&questions);
    close_queue(&to_cancel);
    for (size_t i = 0; i < ANSWERERS; i++)
        (void)pthread_join(answerers[i], NULL);
    (void)pthread_join(canceller, NULL);
    dlclose(provider.library);
    unsigned int count = atomic_load(&wrong);
    ck_assert_uint_eq(count, 0);
}

START_TEST(every_call_gets_its_own_end)
{
    run_gateway(true);
}
END_TEST

START_TEST(shutdowns_in_the_middle)
{
    run_gateway(false);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("threaded gateway");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, every_call_gets_its_own_end);
    tcase_add_test(cases, shutdowns_in_the_middle);
    return run_suite("threaded gateway", &cases, 1);
}
