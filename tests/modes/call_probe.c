/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a sandbox for its answer to system calls, by making them: reads "NUMBER ARGUMENT1 ...
 * ARGUMENT6" a line from standard input and writes a line for each: "allowed", "killed", the error
 * by which the call is refused, or another signal that it has met.
 *
 * A call is made by a child of its own, first behind one more filter that has it wait for a tracer.
 * There is none, so the kernel answers ENOSYS and does nothing; but a refusal, or a kill, of the
 * sandbox's filters comes first (seccomp(2)). Only a call that gets ENOSYS there is really made, to
 * tell one that is allowed from one that does not exist.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS  6
#define LONGEST_US 300000 /* that a call may block which is really made */
#define BROKEN     255

struct query {
    long number;
    unsigned long arguments[ARGUMENTS];
};

static bool have_wait_for_tracer(long number)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(instructions) / sizeof(instructions[0]), instructions};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static void leave(long number, int status)
{
    (void)syscall(number == SYS_exit_group ? SYS_exit : SYS_exit_group, status);
}

/* The status of a child that makes the call and ends with the error, or 0. */
static int make_call(const struct query *query, bool behind_filter)
{
    static const struct itimerval longest = {.it_value = {.tv_usec = LONGEST_US}};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const unsigned long *a = query->arguments;
        if (behind_filter ? !have_wait_for_tracer(query->number)
                          : setitimer(ITIMER_REAL, &longest, NULL) < 0)
            _exit(BROKEN);
        errno = 0;
        long result = syscall(query->number, a[0], a[1], a[2], a[3], a[4], a[5]);
        leave(query->number, result == -1 ? errno : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        perror("fork or wait");
        exit(1);
    }
    return status;
}

static const char *answer(const struct query *query)
{
    int status = make_call(query, true);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGSYS ? "killed" : sigabbrev_np(WTERMSIG(status));
    if (WEXITSTATUS(status) != ENOSYS)
        return strerrorname_np(WEXITSTATUS(status));
    /* Whatever happens to it but that it does not exist. */
    status = make_call(query, false);
    return WIFEXITED(status) && WEXITSTATUS(status) == ENOSYS ? "ENOSYS" : "allowed";
}

int main(void)
{
    struct query query;
    unsigned long *a = query.arguments;
    while (scanf("%ld %lu %lu %lu %lu %lu %lu", &query.number, &a[0], &a[1], &a[2], &a[3], &a[4],
                 &a[5]) == 1 + ARGUMENTS) {
        const char *word = answer(&query);
        (void)puts(word ? word : "broken");
        (void)fflush(stdout);
    }
    return 0;
}
