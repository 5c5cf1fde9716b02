/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods by hand: pod_driver KUBECONFIG. Each line of standard input is an order, each line of
 * standard output an event. It has the client, the pods and the attached stream of the kubernetes
 * backend, and nothing of a run.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/kubernetes/api/attach.h"
#include "backends/kubernetes/claim/claim.h"
#include "backends/kubernetes/pod/pods.h"
#include "base/cleanup.h"
#include "base/error.h"

#define OWNER  "0123456789abcdef0123456789abcdef"
#define RUN_ID OWNER

struct driver {
    struct api_client *client;
    struct api_server server;
    struct pods *pods;
    struct pod *pod;
    struct claim *claim; /* of a warm pool, in the place of pod */
    struct attach *attach;
    bool is_connected;
    bool is_asked;
    bool quits;
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static void say_fault(const char *what, const struct api_fault *fault)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    (void)api_fault_report(fault->problem, fault->retry_after_ms, &event);
    say("%s %s %llu %s | %s", what, error_code_name(event.problem_code),
        (unsigned long long)event.retry_after_ms, fault->message, event.remedy);
}

static struct pod *pod_of(const struct driver *driver)
{
    return driver->claim ? claim_pod(driver->claim) : driver->pod;
}

static void on_ready(void *user)
{
    const struct driver *driver = user;
    say("ready %s", pod_state(pod_of(driver))->node);
}

static void on_claimed(void *user)
{
    (void)user;
    say("claimed");
}

static void on_failed(void *user, const struct api_fault *fault)
{
    (void)user;
    say_fault("failed", fault);
}

static void on_ended(void *user, const struct pod_end *end)
{
    (void)user;
    say("ended %d %s%s%s", end->exit_code, end->reason, end->memory_killed ? " memory" : "",
        end->deadline ? " deadline" : "");
}

static void on_removed(void *user, const struct api_fault *fault)
{
    struct driver *driver = user;
    if (fault)
        say_fault("not removed", fault);
    else
        say("removed");
    pod_free(TAKE_POINTER(driver->pod));
    claim_free(TAKE_POINTER(driver->claim));
}

static const struct pod_events events = {on_ready, on_claimed, on_failed, on_ended, on_removed};

struct making {
    char name[64];
    struct owner owner;
    int64_t now_s;
};

static void begin_making(struct making *ret)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    ret->now_s = now.tv_sec;
    (void)snprintf(ret->name, sizeof(ret->name), "code-execute-%llx%08lx",
                   (unsigned long long)now.tv_sec, (unsigned long)now.tv_nsec);
    (void)owner_self(&ret->owner);
}

static json_t *configure(const struct making *making, json_t *marks, uint64_t deadline_s,
                         bool waits)
{
    static const struct pod_choices choices = {
        .runtime_class = "", .service_account = "run", .pull_secret = ""};
    struct run_description description = {
        .run_id = RUN_ID,
        .limits = {.memory_bytes = 256000000, .scratch_bytes = 1 << 20},
    };
    const char *image = getenv("POD_DRIVER_IMAGE");
    const char *command_text = getenv("POD_DRIVER_COMMAND");
    json_auto_t *command = command_text
                               ? json_loads(command_text, 0, NULL)
                               : json_pack("[s, s]", "/.code-execute-guest", "without-network");
    const struct pod_terms terms = {
        .image = image ? image : "registry.example/run@sha256:1",
        .name = making->name,
        .owner = OWNER,
        .marks = marks,
        .deadline_s = deadline_s,
        .waits = waits,
        .command = command,
    };
    return pod_config_for_run(&description, &choices, &terms);
}

static void make(struct driver *driver, bool waits)
{
    struct making making;
    begin_making(&making);
    json_auto_t *marks = owner_labels(&making.owner, "", making.now_s + 600);
    json_t *config = configure(&making, marks, waits ? 0 : 90, waits);
    driver->pod = config ? pod_make(driver->pods, config, &events, driver) : NULL;
    say(driver->pod ? "made" : "no memory");
}

static void claim(struct driver *driver)
{
    struct making making;
    begin_making(&making);
    json_auto_t *marks = owner_labels(&making.owner, RUN_ID, making.now_s + 600);
    const struct claim_order order = {
        .client = driver->client,
        .server = &driver->server,
        .pods = driver->pods,
        .terms = {.name = making.name,
                  .pool = "warm",
                  .owner = OWNER,
                  .run_id = RUN_ID,
                  .marks = marks,
                  .latest_s = making.now_s + 600},
        .pod = configure(&making, marks, 0, false),
        .life_s = 60,
    };
    driver->claim = claim_make(&order, &events, driver);
    say(driver->claim ? "claims" : "no memory");
}

static void take_connection(void *user, const struct api_fault *fault)
{
    struct driver *driver = user;
    driver->is_connected = fault->problem == API_PROBLEM_NONE;
    if (!driver->is_connected)
        say_fault("not attached", fault);
}

static void drop_attach(struct driver *driver)
{
    attach_close(TAKE_POINTER(driver->attach));
    driver->is_connected = driver->is_asked = false;
}

static void say_swept(void *user, const struct pods_sweep_result *result)
{
    (void)user;
    if (result->fault.problem != API_PROBLEM_NONE)
        say_fault("not swept", &result->fault);
    else
        say("swept %u %u", result->removed, result->left);
}

static void send_text(struct driver *driver, const char *text)
{
    ssize_t count = attach_send(driver->attach, text, strlen(text));
    say(count == (ssize_t)strlen(text) ? "sent" : "not sent");
}

static void explain(const struct driver *driver)
{
    struct api_fault fault;
    if (driver->claim)
        claim_explain_wait(driver->claim, &fault);
    else
        pod_explain_wait(driver->pod, &fault);
    say_fault("waits", &fault);
}

static void take_away(struct driver *driver, bool is_dead)
{
    if (driver->claim)
        (void)claim_remove(driver->claim, is_dead);
    else
        (void)pod_remove(driver->pod, is_dead);
}

static void take_order(struct driver *driver, const char *order)
{
    if (strcmp(order, "make") == 0 || strcmp(order, "make waiting") == 0)
        make(driver, order[4] != '\0');
    else if (strcmp(order, "claim") == 0)
        (void)pod_claim(driver->pod, "feedfeedfeedfeedfeedfeedfeedfeed", time(NULL) + 60, 100);
    else if (strcmp(order, "claim of a pool") == 0)
        claim(driver);
    else if (strcmp(order, "bind") == 0)
        (void)claim_bind(driver->claim);
    else if (strcmp(order, "remove") == 0 || strcmp(order, "kill") == 0)
        take_away(driver, order[0] == 'r');
    else if (strcmp(order, "explain") == 0)
        explain(driver);
    else if (strcmp(order, "sweep") == 0)
        (void)pods_sweep_start(driver->pods, say_swept, NULL);
    else if (strcmp(order, "sweep claims") == 0)
        (void)claims_sweep_start(driver->pods, &driver->server, say_swept, NULL);
    else if (strcmp(order, "attach") == 0)
        driver->attach = attach_open(driver->client, &driver->server, driver->server.name_space,
                                     pod_of(driver) ? pod_name(pod_of(driver)) : "none",
                                     POD_CONTAINER, take_connection, driver);
    else if (strncmp(order, "send ", 5) == 0)
        send_text(driver, order + 5);
    else
        driver->quits = true;
}

/* true: there may be more. */
static bool say_pieces(struct driver *driver, const unsigned char *bytes, size_t length)
{
    static const char *const words[] = {"", "attached", "stdout", "stderr", "end"};
    while (true) {
        struct attach_said said;
        struct api_fault fault;
        ptrdiff_t taken = attach_feed(driver->attach, bytes, length, &said, &fault);
        if (taken < 0) {
            say_fault("broken", &fault);
            drop_attach(driver);
            return false;
        }
        bytes += taken;
        length -= (size_t)taken;
        if (said.word == ATTACH_WORD_NONE)
            return true;
        if (said.word == ATTACH_WORD_OPENED)
            say("attached v%u", attach_protocol(driver->attach));
        else
            say("%s %.*s", words[said.word], (int)said.length, (const char *)said.bytes);
    }
}

static void receive(struct driver *driver)
{
    unsigned char bytes[4096];
    for (bool more = true; more && driver->attach;) {
        ssize_t count = attach_receive(driver->attach, bytes, sizeof(bytes));
        if (count < 0 && errno == EAGAIN)
            return;
        if (count > 0) {
            more = say_pieces(driver, bytes, (size_t)count);
            continue;
        }
        say(attach_is_whole(driver->attach) ? "closed" : "cut");
        drop_attach(driver);
    }
}

static void handle_attach(struct driver *driver)
{
    if (!driver->attach || !driver->is_connected)
        return;
    if (!driver->is_asked) {
        int outcome = attach_ask(driver->attach);
        driver->is_asked = outcome > 0;
        if (outcome <= 0)
            return;
    }
    attach_flush(driver->attach);
    receive(driver);
}

static void read_orders(struct driver *driver)
{
    static char text[4096];
    static size_t length;
    ssize_t count = read(STDIN_FILENO, text + length, sizeof(text) - 1 - length);
    if (count <= 0) {
        driver->quits = true;
        return;
    }
    length += (size_t)count;
    for (char *newline; (newline = memchr(text, '\n', length));) {
        *newline = '\0';
        take_order(driver, text);
        length -= (size_t)(newline + 1 - text);
        memmove(text, newline + 1, length);
    }
}

static void serve(struct driver *driver)
{
    while (!driver->quits) {
        struct curl_waitfd watches[2] = {{.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN}};
        size_t count = 1;
        if (driver->attach && driver->is_connected)
            watches[count++] = (struct curl_waitfd){
                .fd = attach_fd(driver->attach),
                .events = (short)(CURL_WAIT_POLLIN |
                                  (attach_has_unsent(driver->attach) ? CURL_WAIT_POLLOUT : 0)),
            };
        if (api_client_wait(driver->client, watches, count, -1) < 0)
            return;
        if (watches[0].revents)
            read_orders(driver);
        handle_attach(driver);
    }
}

int main(int argc, char **argv)
{
    char empty[] = "";
    struct driver driver = {.client = api_client_new()};
    struct api_fault fault;
    const struct kubernetes_options options = {
        .kubeconfig = argc > 1 ? argv[1] : empty,
        .context = empty,
        .name_space = empty,
        .service_host = empty,
        .service_port = empty,
    };
    if (!driver.client || !api_server_find(&options, &driver.server, &fault)) {
        say_fault("no server", &fault);
        return 1;
    }
    driver.pods = pods_new(driver.client, &driver.server, driver.server.name_space, OWNER);
    say("begins");
    serve(&driver);
    attach_close(driver.attach);
    claim_free(driver.claim);
    pods_free(driver.pods);
    api_client_free(driver.client);
    api_server_clear(&driver.server);
    return 0;
}
