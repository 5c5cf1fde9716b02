/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every system call of the process backend, failed once: of its start, of the supervisor during a
 * run, of the init, and of the payload until its execve; and the init killed at each of its own, so
 * at each word to its supervisor and each frame of files. After each: an answer, nothing left, the
 * next run works, no program has run with a layer missing, as it and the kernel tell, and no half
 * file is told as a whole one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../process/harness.h"
#include "../support/sanitizers.h"
#include "base/cleanup.h"
#include "injector.h"
#include "inspector.h"
#include "left_files.h"
#include "remains.h"

#define POINTS_LIMIT    4000
#define ANSWER_SECONDS  8 /* beyond every limit of the run's own */
#define SETTLE_SECONDS  4
#define GOOD_RUNS_APART 10

struct answer {
    bool started;
    bool ended;
    bool late;
    struct run_event start;
    struct run_event end;
    char output[8192];
    struct left_files files;
};

static struct backend backend = {.control = -1};
static struct fault fault;
static int failed;         /* of the test that runs */
static long met_call = -1; /* that the fault was of */
static size_t mounts;
static struct {
    unsigned int points, whole, refused, lost, replaced;
    unsigned int killed, files_lost;
} count;

static void note(int number)
{
    (void)number; /* it has ended the ppoll() */
}

static const char *fault_name(const struct fault *named)
{
    if (named->kill)
        return "SIGKILL";
    return named->error ? strerror(named->error) : "the error that fits";
}

static void complain(const char *what, const char *more)
{
    CLEANUP_FREE char *name =
        met_call < 0 ? NULL : seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)met_call);
    (void)printf("# %s, call %u (%s), %s: %s%s%s\n", role_name(fault.role), fault.index,
                 name ? name : "no fault", fault_name(&fault), what, more[0] ? ": " : "", more);
    failed++;
}

static bool fault_was_met(void)
{
    long call;
    if (!injector_hit(&call))
        return false;
    met_call = call;
    count.points++;
    return true;
}

/* Waits for a tracee to stop or for one of the descriptors. */
static void wait_a_little(struct pollfd *ready, nfds_t number)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)ppoll(ready, number, &pause, &none);
}

/* The backend as the plugin starts it, under the injector from its execve on. */
static pid_t fork_backend(int *ret_control)
{
    int pair[2];
    int go[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || pipe2(go, O_CLOEXEC) < 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        int high = fcntl(pair[1], F_DUPFD_CLOEXEC, 100);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        (void)dup2(null, 2);
        if (read(go[0], &byte, 1) == 1 && dup2(high, BACKEND_CONTROL_FD) >= 0)
            (void)execve(getenv("CODE_EXECUTE_PROCESS"), WORDS("code-execute-process"),
                         WORDS(NULL));
        _exit(127);
    }
    injector_adopt(pid);
    if (write(go[1], "", 1) != 1)
        abort();
    close_fd(go[0]);
    close_fd(go[1]);
    close_fd(pair[1]);
    *ret_control = pair[0];
    return pid;
}

/* false: it has ended before it said hello. */
static bool start_backend(const struct fault *start_fault)
{
    injector_begin(start_fault, 0);
    (void)fork_backend(&backend.control);
    double latest = now_seconds() + ANSWER_SECONDS;
    struct backend_hello hello;
    for (;;) {
        while (injector_serve())
            ;
        ssize_t length = channel_receive_now(backend.control, &hello, sizeof(hello));
        if (length == (ssize_t)sizeof(hello))
            break;
        if (length >= 0 || now_seconds() > latest || errno != EAGAIN) {
            if (length != 0 && !(length < 0 && errno == ECONNRESET))
                complain("the backend neither starts nor ends", "");
            close_fd(TAKE_FD(backend.control));
            return false;
        }
        struct pollfd ready = {.fd = backend.control, .events = POLLIN};
        wait_a_little(&ready, 1);
    }
    backend.pid = hello.pid;
    return true;
}

static bool serve_until(bool (*is_done)(void), double seconds)
{
    double latest = now_seconds() + seconds;
    for (;;) {
        while (injector_serve())
            ;
        if (is_done())
            return true;
        if (now_seconds() > latest)
            return false;
        wait_a_little(NULL, 0);
    }
}

static bool has_ended(void)
{
    return !process_is_alive(backend.pid);
}

static void stop_backend(void)
{
    if (backend.control < 0)
        return;
    close_fd(TAKE_FD(backend.control));
    if (!serve_until(has_ended, ANSWER_SECONDS))
        complain("the backend does not end", "");
}

static void take_output(int fd, struct answer *answer)
{
    size_t used = strlen(answer->output);
    ssize_t length = read(fd, answer->output + used, sizeof(answer->output) - 1 - used);
    if (length > 0)
        answer->output[used + (size_t)length] = '\0';
}

/* false: nothing more will come. */
static bool take_event(int fd, struct answer *answer)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    ssize_t length = channel_receive_now(fd, message, sizeof(message));
    if (length < 0)
        return errno == EAGAIN;
    if (length == 0 || !run_event_decode(message, (size_t)length, &event))
        return false;
    if (event.type == RUN_EVENT_STARTED) {
        answer->started = true;
        answer->start = event;
        return true;
    }
    answer->ended = true;
    answer->end = event;
    return false;
}

/* Behind the end of the run, as the plugin does. */
static void finish_files(struct left_files *files)
{
    double latest = now_seconds() + ANSWER_SECONDS;
    while (left_files_read(files), files->pipe >= 0) {
        struct pollfd ready = {.fd = files->pipe, .events = POLLIN};
        while (injector_serve())
            ;
        if (now_seconds() > latest) {
            complain("the stream of files does not end", "");
            return;
        }
        wait_a_little(&ready, 1);
    }
}

static void finish(const struct running *running, struct answer *answer)
{
    double latest = now_seconds() + ANSWER_SECONDS;
    struct pollfd ready[] = {{.fd = running->events, .events = POLLIN},
                             {.fd = running->output, .events = POLLIN}};
    (void)fcntl(running->output, F_SETFL, O_NONBLOCK);
    while (!answer->late) {
        while (injector_serve())
            ;
        take_output(running->output, answer);
        if (!take_event(running->events, answer))
            break;
        wait_a_little(ready, COUNT_OF(ready));
        answer->late = now_seconds() > latest;
    }
    take_output(running->output, answer);
    finish_files(&answer->files);
    close_fd(running->events);
    close_fd(running->output);
    close_fd(running->errors);
}

static bool is_settled(void)
{
    return !has_children(backend.pid) && !has_groups_of_runs(backend.pid);
}

static void judge_layers(const struct answer *answer)
{
    const struct seen *seen = injector_seen();
    const struct isolation_report *told =
        answer->ended ? &answer->end.isolation : &answer->start.isolation;
    if (seen->faults[0])
        complain("THE PROGRAM RAN WITHOUT", seen->faults);
    if (!answer->ended && !answer->started)
        return;
    /* A run that is told as failed and never as started claims no layer, though its program may
     * have begun before it was killed. */
    if (!answer->started && answer->end.failure != RUN_FAILURE_NONE)
        return;
    if (LAYERS_MANDATORY & ~told->applied)
        complain("the program ran and a mandatory layer is not told as applied", "");
    /* A limit may be there whose twin could not be set: that layer is told as missing. */
    if ((told->applied & LAYER_BIT(LAYER_CGROUP)) && !(seen->memory_group && seen->process_group))
        complain("what is told of cgroup is not true", "");
    if (!(told->applied & LAYER_BIT(LAYER_PROC)) != !seen->proc)
        complain("what is told of proc is not true", "");
}

static void judge_files(const struct answer *answer)
{
    bool all = false;
    const char *complaint = left_files_judge(&answer->files, &all);
    if (complaint)
        complain(complaint, "");
    if (!all)
        count.files_lost++;
}

static bool is_whole(const struct answer *answer)
{
    return answer->ended && answer->end.cause == RUN_CAUSE_EXIT && answer->end.exit_code == 0;
}

/* The init died before the program's end was told. */
static void judge_killed(const struct answer *answer)
{
    count.killed++;
    if (!answer->ended)
        complain("a run whose sandbox was killed has no end", "");
    else if (answer->started &&
             (answer->end.cause != RUN_CAUSE_SIGNAL || answer->end.signal != SIGKILL))
        complain("it was killed, and not told so",
                 run_cause_name((enum run_cause)answer->end.cause));
    else if (!answer->started &&
             (answer->end.cause != RUN_CAUSE_INFRASTRUCTURE || !answer->end.message[0]))
        complain("it was killed before its start, and not told so", answer->end.message);
    if (answer->files.length > 0)
        complain("files came from a program whose end is not known", "");
}

static void judge(const struct answer *answer)
{
    if (answer->late) {
        complain("no answer", "");
        return;
    }
    if (injector_seen()->ran)
        judge_layers(answer);
    if (is_whole(answer)) {
        count.whole++;
        judge_files(answer);
        if (!injector_seen()->ran)
            complain("an end is told of a program that did not run", "");
        if (!inspector_is_content(answer->output,
                                  answer->end.isolation.applied & LAYER_BIT(LAYER_LANDLOCK)))
            complain("the program saw", answer->output);
    } else if (fault.kill && met_call >= 0) {
        judge_killed(answer);
    } else if (!answer->ended) {
        count.lost++; /* the plugin sees the socket's end, and says that the backend failed */
    } else {
        count.refused++;
        if (answer->end.cause != RUN_CAUSE_INFRASTRUCTURE)
            complain("a fault of ours is told as the program's",
                     run_cause_name((enum run_cause)answer->end.cause));
        else if (!answer->end.message[0] ||
                 strstr(answer->end.message, "the set-up of the run was killed"))
            complain("the failure does not say what failed", answer->end.message);
    }
}

/* One run of the inspector; the backend may be gone afterwards. */
static void run_once(const struct fault *run_fault, struct answer *answer)
{
    struct run_description description = inspector_run();
    static const struct fault none;
    struct running running;
    for (int attempt = 0; attempt < 3; attempt++) {
        left_files_clear(&answer->files);
        memset(answer, 0, sizeof(*answer));
        left_files_expect(&answer->files, &description);
        injector_begin(run_fault, backend.pid);
        bool sent = run_try_begin(&backend, &description, &running);
        left_files_sent();
        if (sent) {
            finish(&running, answer);
            return;
        }
        /* The end of the one before, still on its way. */
        stop_backend();
        if (!start_backend(&none))
            break;
    }
    complain("no backend takes a run", "");
}

static void expect_nothing_left(void)
{
    if (has_ended()) {
        count.replaced++;
        stop_backend();
        return;
    }
    if (!serve_until(is_settled, SETTLE_SECONDS)) {
        /* The supervisor may have seen its end; it has a while for that. */
        if (has_ended()) {
            count.replaced++;
            stop_backend();
            return;
        }
        complain("something is left", has_children(backend.pid) ? "a process" : "a control group");
        stop_backend();
    }
    if (count_mounts() != mounts)
        complain("a mount is left", "");
}

static void expect_a_good_run(void)
{
    static const struct fault none;
    static struct answer answer = {.files = {.pipe = -1}};
    if (backend.control < 0 && !start_backend(&none)) {
        complain("the next backend does not start", "");
        return;
    }
    run_once(&none, &answer);
    if (!is_whole(&answer)) {
        /* Its end may have come with the run before. */
        if (!serve_until(has_ended, 1)) {
            complain("the next run is refused", answer.ended ? answer.end.message : "no answer");
            stop_backend();
            return;
        }
        stop_backend();
        expect_a_good_run();
        return;
    }
    judge(&answer);
    count.whole--;
    bool all = false;
    (void)left_files_judge(&answer.files, &all);
    if (!all)
        complain("not all files of the next run came", "");
}

/* One point; false once the fault was not met any more. */
static bool try_point(void)
{
    static struct answer answer = {.files = {.pipe = -1}};
    static const struct fault none;
    met_call = -1;
    if (fault.role == ROLE_START) {
        stop_backend();
        bool started = start_backend(&fault);
        if (!fault_was_met())
            return false;
        if (!started) {
            count.refused++;
            return true;
        }
        run_once(&none, &answer);
    } else {
        run_once(&fault, &answer);
        if (!fault_was_met())
            return false;
    }
    judge(&answer);
    expect_nothing_left();
    return true;
}

static bool try_faults(const struct fault *first)
{
    static const struct fault none;
    enum role role = first->role;
    failed = 0;
    memset(&count, 0, sizeof(count));
    fault = *first;
    for (fault.index = 1; fault.index < POINTS_LIMIT && failed < 20; fault.index++) {
        if (backend.control < 0 && !start_backend(&none))
            return false;
        bool more = try_point();
        /* The supervisor lives on as it was where the fault was another's: the points go on with
         * it. */
        if (!more || role <= ROLE_SUPERVISOR || fault.index % GOOD_RUNS_APART == 0)
            expect_a_good_run();
        if (!more)
            break;
    }
    stop_backend();
    (void)printf("# %s, %s: %u points: %u runs whole (%u without all their files), %u refused, %u "
                 "lost with their backend or without their end, %u killed; %u backends replaced\n",
                 role_name(role), fault_name(first), count.points, count.whole, count.files_lost,
                 count.refused, count.lost, count.killed, count.replaced);
    return failed == 0 && count.points > 0 && (!first->kill || (count.killed && count.files_lost));
}

/* One line of the output. */
static bool report_faults(const struct fault *first, int *number)
{
    const char *only = getenv("FAULTS_ROLE");
    if (only && strcmp(only, role_name(first->role)) != 0)
        return true;
    bool passed = try_faults(first);
    (void)printf("%s %d - at each system call of the %s, once: %s\n", passed ? "ok" : "not ok",
                 ++*number, role_name(first->role), fault_name(first));
    (void)fflush(stdout);
    return passed;
}

int main(void)
{
    if (UNDER_ADDRESS_SANITIZER) {
        (void)printf("1..0 # SKIP a sanitized backend makes calls of its own\n");
        return 0;
    }
    static const int errors[] = {0, EPERM, EIO, ENOSYS};
    size_t error_count = getenv("CODE_EXECUTE_TEST_LONG") ? COUNT_OF(errors) : 1;
    if (geteuid() != 0) {
        (void)printf("1..0 # SKIP takes root, to trace a sandbox\n");
        return 0;
    }
    sigset_t child;
    keep_mounts_apart();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    (void)signal(SIGCHLD, note);
    mounts = count_mounts();
    (void)printf("1..%zu\n", ROLE_OTHER * error_count + 1);
    int number = 0;
    bool good = true;
    for (size_t i = 0; i < error_count; i++)
        for (int role = ROLE_START; role < ROLE_OTHER; role++)
            good &= report_faults(&(struct fault){.role = (enum role)role, .error = errors[i]},
                                  &number);
    good &= report_faults(&(struct fault){.role = ROLE_INIT, .kill = true}, &number);
    return good ? 0 : 1;
}
