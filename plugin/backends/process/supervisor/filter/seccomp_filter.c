/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the making of the filters, in a process of its own, for the supervisor at its start.
 *
 * Without memory libseccomp 2.5 goes on with half of its rules and reports success, or never ends.
 * So it does not run in the supervisor, and the output of a process that ran out of memory is not
 * used.
 */
#include "backends/process/supervisor/filter/seccomp_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "base/cleanup.h"

#define NOTIFYING_API  5 /* seccomp_api_get(3): SCMP_ACT_NOTIFY and all that came before it */
#define MAKING_SECONDS 2 /* of processor time, a hundred times what it takes */

#define PLACE(member) offsetof(struct seccomp_filters, member)

static const struct {
    enum seccomp_filter_kind kind;
    uint32_t default_action;
    size_t place; /* in struct seccomp_filters */
} filters[] = {
    {SECCOMP_IN_LIST, SCMP_ACT_ERRNO(ENOSYS), PLACE(list)},
    {SECCOMP_IN_LIST_WITH_ATTRIBUTES, SCMP_ACT_ERRNO(ENOSYS), PLACE(list_with_attributes)},
    {SECCOMP_IN_GUARD, SCMP_ACT_ALLOW, PLACE(guard[SECCOMP_GUARD_WITHOUT_NETWORK])},
    {SECCOMP_IN_GUARD_WITH_NETWORK, SCMP_ACT_ALLOW, PLACE(guard[SECCOMP_GUARD_NETWORK])},
    {SECCOMP_IN_GUARD_WITH_ENDPOINTS, SCMP_ACT_ALLOW, PLACE(guard[SECCOMP_GUARD_ENDPOINTS])},
    {SECCOMP_IN_GUARD_UNPRIVILEGED, SCMP_ACT_ALLOW, PLACE(guard[SECCOMP_GUARD_UNPRIVILEGED])},
};
#define FILTER_COUNT COUNT_OF(filters)

static void cleanup_context(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
}

/* The result of libseccomp, unless it ran out of memory. */
static int unless_lacking(int result)
{
    return result >= 0 && errno == ENOMEM ? -ENOMEM : result;
}

/* A filter for this architecture alone: calls through another one's numbers kill. As a tree, not a
 * list: the kernel goes through it once for every call there is when it is loaded. */
static scmp_filter_ctx new_context(uint32_t default_action)
{
    scmp_filter_ctx context = seccomp_init(default_action);
    if (!context)
        return NULL;
    if (seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
        seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0)
        return context;
    seccomp_release(context);
    return NULL;
}

static int write_filter(enum seccomp_filter_kind kind, uint32_t default_action, int fd)
{
    CLEANUP(cleanup_context) scmp_filter_ctx context = new_context(default_action);
    if (!context)
        return -ENOMEM;
    for (size_t i = 0; i < seccomp_rule_count; i++) {
        if (!(seccomp_rules[i].filters & kind))
            continue;
        int result = unless_lacking(seccomp_rule_apply(context, &seccomp_rules[i]));
        if (result < 0)
            return result;
    }
    return unless_lacking(seccomp_export_bpf(context, fd));
}

static int write_filters(const int fds[FILTER_COUNT])
{
    errno = 0;
    /* The library probes the kernel once and remembers a failure for ever; the loading tells. */
    int result = unless_lacking(seccomp_api_set(NOTIFYING_API));
    for (size_t i = 0; i < FILTER_COUNT && result == 0; i++)
        result = write_filter(filters[i].kind, filters[i].default_action, fds[i]);
    return result;
}

static int write_filters_apart(const int fds[FILTER_COUNT])
{
    static const struct itimerval limit = {.it_value = {.tv_sec = MAKING_SECONDS}};
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        (void)setitimer(ITIMER_VIRTUAL, &limit, NULL);
        _exit(-write_filters(fds));
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ENOMEM;
}

static int read_program(int fd, struct seccomp_program *ret)
{
    size_t length;
    errno = E2BIG;
    void *instructions = run_read_file(fd, BPF_MAXINSNS * sizeof(struct sock_filter), &length);
    if (!instructions)
        return -errno;
    *ret = (struct seccomp_program){
        .instructions = instructions,
        .count = (unsigned short)(length / sizeof(struct sock_filter)),
    };
    return 0;
}

static int make_programs(const int fds[FILTER_COUNT], struct seccomp_program ret[FILTER_COUNT])
{
    int result = write_filters_apart(fds);
    for (size_t i = 0; i < FILTER_COUNT && result == 0; i++)
        result = read_program(fds[i], &ret[i]);
    for (size_t i = 0; i < FILTER_COUNT && result < 0; i++)
        free(ret[i].instructions);
    return result;
}

int seccomp_filters_make(struct seccomp_filters *ret)
{
    int fds[FILTER_COUNT];
    struct seccomp_program programs[FILTER_COUNT] = {{.count = 0}};
    int result = 0;
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        fds[i] = memfd_create("seccomp", MFD_CLOEXEC);
        if (fds[i] < 0)
            result = -errno;
    }
    if (result == 0)
        result = make_programs(fds, programs);
    for (size_t i = 0; i < FILTER_COUNT; i++)
        close_fd(fds[i]);
    if (result < 0) {
        errno = -result;
        return -1;
    }
    for (size_t i = 0; i < FILTER_COUNT; i++)
        memcpy((char *)ret + filters[i].place, &programs[i], sizeof(programs[i]));
    return 0;
}
