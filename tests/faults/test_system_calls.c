/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every system call of the process backend, failed once: of its start, of the supervisor during a
 * run, of the init, and of the payload until its execve; of the init once more where the run
 * reaches endpoints; and the init killed at each of its own, so at each word to its supervisor and
 * each frame of files. After each: an answer, nothing left, the next run works, no program has run
 * with a layer missing, as it and the kernel tell, and no half file is told as a whole one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../process/backend/harness.h"
#include "../support/sanitizers.h"
#include "base/cleanup.h"
#include "complaints.h"
#include "injector.h"
#include "inspector.h"
#include "knocked_out.h"
#include "left_files.h"
#include "remains.h"
#include "traced_backend.h"

#define POINTS_LIMIT    4000
#define COMPLAINTS_MOST 20
#define GUARDIAN_TRIES  8
#define SETTLE_SECONDS  4
#define GOOD_RUNS_APART 10

static struct fault fault;
static bool is_met;
static bool has_endpoints; /* each run */
static size_t mounts;
static struct {
    unsigned int points, whole, refused, lost, replaced;
    unsigned int killed, files_lost;
} count;

static bool fault_was_met(void)
{
    long call;
    is_met = injector_hit(&call);
    if (!is_met)
        return false;
    complaints_are_of(&fault, call);
    count.points++;
    return true;
}

static bool is_settled(void)
{
    return !has_children(traced_backend.pid) && !has_groups_of_runs(traced_backend.pid) &&
           is_empty(inspector_directory());
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
    if (inspector_layers() & ~told->applied)
        complain("the program ran and a mandatory layer is not told as applied", "");
    if (!(told->applied & LAYER_BIT(LAYER_ENDPOINT_BROKER)) != !has_endpoints)
        complain("what is told of its endpoints is not true", "");
    if (answer->broker_listens != has_endpoints)
        complain("the program ran and its broker has no listener, or one without endpoints", "");
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
    if (!inspector_is_content_so_far(answer->output))
        complain("THE PROGRAM SAW", answer->output);
    if (is_whole(answer)) {
        count.whole++;
        judge_files(answer);
        if (!injector_seen()->ran)
            complain("an end is told of a program that did not run", "");
        if (!inspector_is_content(answer->output,
                                  answer->end.isolation.applied & LAYER_BIT(LAYER_LANDLOCK)))
            complain("the program saw", answer->output);
    } else if (fault.kill && is_met) {
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

static void expect_nothing_left(void)
{
    if (traced_backend_has_ended()) {
        count.replaced++;
        traced_backend_stop();
        return;
    }
    if (!traced_serve_until(is_settled, SETTLE_SECONDS)) {
        /* The supervisor may have seen its end; it has a while for that. */
        if (traced_backend_has_ended()) {
            count.replaced++;
            traced_backend_stop();
            return;
        }
        complain("something is left", has_children(traced_backend.pid)         ? "a process"
                                      : has_groups_of_runs(traced_backend.pid) ? "a control group"
                                                                               : "a directory");
        traced_backend_stop();
    }
    if (mounts_are_left(&mounts))
        complain("a mount is left", "");
}

static void expect_a_good_run(void)
{
    static const struct fault none;
    static struct answer answer = {.files = {.pipe = -1}};
    if (traced_backend.control < 0 && !traced_backend_start(&none)) {
        complain("the next backend does not start", "");
        return;
    }
    traced_run(&none, &answer);
    if (!is_whole(&answer)) {
        /* Its end may have come with the run before. */
        if (!traced_serve_until(traced_backend_has_ended, 1)) {
            complain("the next run is refused", answer.ended ? answer.end.message : "no answer");
            traced_backend_stop();
            return;
        }
        traced_backend_stop();
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
    is_met = false;
    complaints_are_of(&fault, -1);
    if (fault.role == ROLE_START) {
        traced_backend_stop();
        bool started = traced_backend_start(&fault);
        if (!fault_was_met())
            return false;
        if (!started) {
            count.refused++;
            return true;
        }
        traced_run(&none, &answer);
    } else {
        traced_run(&fault, &answer);
        if (!fault_was_met())
            return false;
    }
    judge(&answer);
    expect_nothing_left();
    return true;
}

static const char *run_name(void)
{
    return has_endpoints ? " of a run with endpoints" : "";
}

static bool try_faults(const struct fault *first)
{
    static const struct fault none;
    enum role role = first->role;
    unsigned int complaints = 0;
    memset(&count, 0, sizeof(count));
    fault = *first;
    for (fault.index = 1; fault.index < POINTS_LIMIT && complaints < COMPLAINTS_MOST;
         fault.index++) {
        if (traced_backend.control < 0 && !traced_backend_start(&none))
            return false;
        bool more = try_point();
        /* A guardian may have been ended before it came to that call. */
        for (int i = 0; i < GUARDIAN_TRIES && !more && role == ROLE_GUARDIAN; i++)
            more = try_point();
        /* The supervisor lives on as it was where the fault was another's: the points go on with
         * it. */
        if (!more || role <= ROLE_SUPERVISOR || fault.index % GOOD_RUNS_APART == 0)
            expect_a_good_run();
        complaints += complaints_take();
        if (!more)
            break;
    }
    traced_backend_stop();
    complaints += complaints_take();
    (void)printf(
        "# %s%s, %s: %u points: %u runs whole (%u without all their files), %u refused, %u "
        "lost with their backend or without their end, %u killed; %u backends replaced\n",
        role_name(role), run_name(), fault_name(first), count.points, count.whole, count.files_lost,
        count.refused, count.lost, count.killed, count.replaced);
    return complaints == 0 && count.points > 0 &&
           (!first->kill || (count.killed && count.files_lost));
}

/* A run in a backend that lacks this: the judgement is to find something wrong, and it is known
 * that nothing else is. */
static bool is_noticed(const char *lines)
{
    static struct answer answer = {.files = {.pipe = -1}};
    static const struct fault none;
    fault = none;
    is_met = false;
    complaints_are_of(&none, -1);
    knocked_out_lacks(lines);
    if (traced_backend_start(&none)) {
        traced_run(&none, &answer);
        judge(&answer);
        expect_nothing_left();
        traced_backend_stop();
    }
    return complaints_take() > 0;
}

static bool lacks_are_noticed(const char *const *lacking)
{
    bool passed = true;
    bool is_unfair = is_noticed("nothing nothing");
    complaints_silence(true);
    for (; *lacking; lacking++)
        if (!is_noticed(*lacking)) {
            (void)printf("# nothing is noticed without %s\n", *lacking);
            passed = false;
        }
    complaints_silence(false);
    return passed && !is_unfair;
}

static void give_endpoints(bool has)
{
    inspector_has_endpoints(has);
    has_endpoints = has;
}

/* Without namespaces no run reaches any. */
static bool endpoints_are_noticed(void)
{
    static const char *const lacking[] = {"step hand_over_endpoints", NULL};
    if (inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED)
        return true;
    give_endpoints(true);
    bool passed = lacks_are_noticed(lacking);
    give_endpoints(false);
    return passed;
}

/* The control of all that follows: what is looked at shows each layer that is not there. */
static bool report_judge(int *number)
{
    if (getenv("FAULTS_ROLE"))
        return true;
    struct knocked_out knocked_out = knocked_out_make();
    bool passed = lacks_are_noticed(knocked_out_lacking());
    passed = endpoints_are_noticed() && passed;
    knocked_out_remove(&knocked_out);
    (void)printf("%s %d - a layer that is missing is noticed\n", passed ? "ok" : "not ok",
                 ++*number);
    return passed;
}

/* One line of the output. */
static bool report_faults(const struct fault *first, int *number)
{
    const char *only = getenv("FAULTS_ROLE");
    if (only && strcmp(only, role_name(first->role)) != 0)
        return true;
    bool passed = try_faults(first);
    (void)printf("%s %d - at each system call of the %s%s, once: %s\n", passed ? "ok" : "not ok",
                 ++*number, role_name(first->role), run_name(), fault_name(first));
    (void)fflush(stdout);
    return passed;
}

static bool report_endpoints(int *number)
{
    give_endpoints(true);
    bool passed = report_faults(&(struct fault){.role = ROLE_INIT}, number);
    give_endpoints(false);
    return passed;
}

/* An init that looks at its tree makes now more calls and now fewer: a number may miss these. */
static const long behind_looks[] = {SYS_kill, SYS_ioctl, SYS_recvmsg, SYS_sendmsg};

/* The start knows nothing of blueprints. */
static bool is_tried(enum role role, bool is_unprivileged)
{
    if (role == ROLE_START)
        return !is_unprivileged || getenv("CODE_EXECUTE_TEST_LONG");
    return role != ROLE_GUARDIAN || is_unprivileged;
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
    bool is_unprivileged = inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED;
    keep_mounts_apart();
    if (is_unprivileged)
        hide_control_groups();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    traced_backend_init();
    injector_expect(inspector_isolation());
    mounts = count_mounts();
    int number = 0;
    bool good = report_judge(&number);
    for (size_t i = 0; i < error_count; i++)
        for (int role = ROLE_START; role < ROLE_OTHER; role++)
            if (is_tried((enum role)role, is_unprivileged))
                good &= report_faults(&(struct fault){.role = (enum role)role, .error = errors[i]},
                                      &number);
    good &= report_faults(&(struct fault){.role = ROLE_INIT, .kill = true}, &number);
    if (!is_unprivileged)
        good &= report_endpoints(&number);
    for (size_t i = 0; i < COUNT_OF(behind_looks) && is_unprivileged; i++)
        good &= report_faults(&(struct fault){.role = ROLE_INIT, .only = behind_looks[i]}, &number);
    (void)printf("1..%d\n", number);
    return good ? 0 : 1;
}
