/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts to get out, each with its positive control: the same code where its layer is absent must
 * arrive, in the sandbox it must not. Judged by what is seen of the canaries.
 */
#include "attacks.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "canary.h"
#include "suite.h"

static struct canary canary;

static void compose(const struct attack *attack, char *code, size_t size)
{
    (void)snprintf(code, size,
                   "import os,socket,ctypes,sys\nc=ctypes.CDLL(None,use_errno=True)\n"
                   "e=os.environ\n%s%s",
                   attack_numbers, attack->code);
}

static char **canary_environment(void)
{
    static char *environment[CANARY_VARIABLES + 1];
    for (size_t i = 0; i < CANARY_VARIABLES; i++)
        environment[i] = canary.variables[i];
    return environment;
}

static void attempt(const struct attack *attack, uint32_t isolation)
{
    char code[2048];
    compose(attack, code, sizeof(code));
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.isolation = isolation;
    description.environment = canary_environment();
    run(&backend, &description, &outcome);
}

START_TEST(attack_reaches_nothing)
{
    const struct attack *attack = &attacks[_i];
    canary_plant(&canary);
    attempt(attack, RUN_ISOLATION_SANDBOX);
    if (attack->evidence & EVIDENCE_DEATH)
        (void)usleep(50000); /* a signal may kill a little later than the run's end is told */
    unsigned int evidence = canary_evidence(&canary, outcome.output);
    canary_clear(&canary);
    ck_assert_msg(outcome.started, "not started: %s", outcome.end.message);
    ck_assert_msg(evidence == 0, "evidence %#x: %s", evidence, outcome.output);
    if (attack->is_killed) {
        expect_cause(&outcome, RUN_CAUSE_FORBIDDEN_SYSCALL);
        ck_assert_int_eq(outcome.end.signal, SIGSYS);
        return;
    }
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_msg(strstr(outcome.output, "no\n") || strstr(outcome.errors, "Error"),
                  "was not tried: %s %s", outcome.output, outcome.errors);
}
END_TEST

/* Without the backend, and with a descriptor that is inherited. */
static void attempt_bare(const struct attack *attack)
{
    char code[2048];
    int output[2];
    compose(attack, code, sizeof(code));
    ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(output[1], STDOUT_FILENO);
        (void)dup2(canary.file, 9);
        /* The python that a run finds, whatever is first in this program's PATH. */
        (void)setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
        (void)execvpe("python3", WORDS("python3", "-c", code), canary_environment());
        _exit(127);
    }
    close_fd(output[1]);
    ssize_t length = read(output[0], outcome.output, sizeof(outcome.output) - 1);
    outcome.output[length > 0 ? length : 0] = '\0';
    outcome.errors[0] = '\0';
    close_fd(output[0]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* What the run has caused may show a little later than its end is told. */
static unsigned int await_evidence(unsigned int wanted)
{
    unsigned int evidence = 0;
    for (int tries = 0; tries < 200 && !(evidence & wanted); tries++) {
        if (tries > 0)
            (void)usleep(10000);
        evidence |= canary_evidence(&canary, outcome.output);
    }
    return evidence;
}

START_TEST(control_reaches)
{
    const struct attack *attack = &attacks[_i];
    canary_plant(&canary);
    canary_show_target(&canary);
    backend_stop(&backend);
    if (geteuid() == 0)
        canary_own_mounts();
    if (attack->control == CONTROL_THROWAWAY)
        canary_enter_throwaway_root(&canary);
    backend = backend_start();
    if (attack->control == CONTROL_BARE)
        attempt_bare(attack);
    else
        attempt(attack, RUN_ISOLATION_NONE);
    unsigned int evidence = await_evidence(attack->evidence);
    canary_clear(&canary);
    ck_assert_msg(evidence & attack->evidence, "evidence %#x: %s%s", evidence, outcome.output,
                  outcome.errors);
}
END_TEST

static const struct attack *named(const char *name)
{
    size_t i = 0;
    while (strcmp(attacks[i].name, name) != 0)
        i++;
    return &attacks[i];
}

START_TEST(network_only_where_allowed)
{
    static const char *const others[] = {"16,3,0",  "17,3,0",  "38,5,0",   "40,1,0",
                                         "2,1,262", "2,2,136", "10,1,262", "10,2,136"};
    char code[2048];
    canary_plant(&canary);
    compose(named("tcp connect"), code, sizeof(code));
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.environment = canary_environment();
    description.network = 1;
    expect_output(&description, "");
    unsigned int evidence = canary_evidence(&canary, "");
    canary_clear(&canary);
    ck_assert_uint_eq(evidence, EVIDENCE_CONNECTION);
    ck_assert_uint_eq(outcome.end.isolation.applied & LAYER_BIT(LAYER_NETWORK_NAMESPACE), 0);
    ck_assert_uint_eq(outcome.end.isolation.missing & LAYER_BIT(LAYER_NETWORK_NAMESPACE), 0);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        (void)snprintf(code, sizeof(code), "import socket\nsocket.socket(%s);print('reached')",
                       others[i]);
        description.argv = WORDS("python3", "-c", code);
        run(&backend, &description, &outcome);
        ck_assert_str_eq(outcome.output, "");
        ck_assert_ptr_nonnull(strstr(outcome.errors, "Error"));
    }
}
END_TEST

/* What a second run sees of a first, which goes on until the second has ended. */
static void look_at_other_run(uint32_t isolation)
{
    static const char order = RUN_ORDER_CANCEL;
    static const char *const places[] = {"/tmp", "/dev/shm"};
    char mark[32];
    char first[256];
    char second[256];
    (void)snprintf(mark, sizeof(mark), "apart-%d", (int)getpid());
    (void)snprintf(
        first, sizeof(first),
        "for d in /tmp /dev/shm; do echo secret > $d/%s; done; echo ready; sleep 1000.%d", mark,
        (int)getpid());
    (void)snprintf(second, sizeof(second),
                   "cat /tmp/%s /dev/shm/%s 2>/dev/null; ps ax | grep 'slee[p] 1000.%d'; echo seen",
                   mark, mark, (int)getpid());
    struct run_description description = describe(WORDS("sh", "-c", first));
    description.isolation = isolation;
    description.limits.wall_ms = 120000;
    struct running running = run_begin(&backend, &description);
    run_await_start(&running);
    run_await_output(&running);
    struct run_description other = describe(WORDS("sh", "-c", second));
    other.isolation = isolation;
    static struct outcome ended;
    run(&backend, &other, &outcome);
    ck_assert_int_eq(channel_send(running.events, &order, sizeof(order), NULL, 0), 0);
    run_finish(&running, &ended);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/%s", places[i], mark);
        ck_assert(unlink(path) == 0 || isolation == RUN_ISOLATION_SANDBOX);
    }
    ck_assert_str_eq(ended.output, "ready\n");
    ck_assert_int_eq((int)ended.end.cause, RUN_CAUSE_CANCELLED);
}

START_TEST(runs_are_apart)
{
    look_at_other_run(RUN_ISOLATION_SANDBOX);
    ck_assert_str_eq(outcome.output, "seen\n");
    look_at_other_run(RUN_ISOLATION_NONE);
    ck_assert_int_eq(strncmp(outcome.output, "secret\nsecret\n", 14), 0);
    ck_assert_ptr_nonnull(strstr(outcome.output, "sleep"));
}
END_TEST

static const char *lacks_control(const struct attack *attack)
{
    const char *reason = attack->lacks ? attack->lacks() : NULL;
    bool takes_root = attack->control == CONTROL_ROOT || attack->control == CONTROL_THROWAWAY;
    if (!reason && takes_root)
        reason = lacks_root();
    return reason;
}

static const char *title(const char *kind, size_t index)
{
    static char titles[256][64];
    static size_t used;
    char *text = titles[used++ % COUNT_OF(titles)];
    (void)snprintf(text, sizeof(titles[0]), "%s: %s", kind, attacks[index].name);
    return text;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "target") == 0)
        return canary_target();
    suite_begin("attacks");
    const char *python = lacks_program("python3");
    for (size_t i = 0; i < attack_count; i++) {
        const char *reason = python ? python : lacks_control(&attacks[i]);
        suite_add_round(attack_reaches_nothing, (int)i, title("attack", i), python);
        suite_add_round(control_reaches, (int)i, title("control", i), reason);
    }
    suite_add(network_only_where_allowed, python);
    suite_add(runs_are_apart, NULL);
    return suite_end();
}
