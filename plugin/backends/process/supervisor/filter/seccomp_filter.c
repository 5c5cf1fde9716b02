/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the making of the filters, in a process of its own, for the supervisor at its start.
 *
 * Without memory libseccomp 2.5 goes on with half of what it was asked for, and says that all went
 * well, or never ends; jansson 2.14 reads and writes behind a token that it could not keep. So
 * neither touches the supervisor, and what a process made that met a lack of memory is not used.
 */
#include "backends/process/supervisor/filter/seccomp_filter.h"

#include <errno.h>
#include <jansson.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

extern const char seccomp_list_begin[];
extern const char seccomp_list_end[];
__asm__(".section .rodata\n"
        ".global seccomp_list_begin\n"
        ".global seccomp_list_end\n"
        "seccomp_list_begin:\n"
        ".incbin \"" SECCOMP_LIST_FILE "\"\n"
        "seccomp_list_end:\n"
        ".byte 0\n"
        ".previous\n");

#define CONDITIONS_LIMIT 4 /* arguments in one condition */
#define NOTIFYING_API    5 /* seccomp_api_get(3): SCMP_ACT_NOTIFY and all that came before it */
#define MAKING_SECONDS   2 /* of processor time, a hundred times what it takes */

enum { FILTER_LIST, FILTER_GUARD, FILTER_GUARD_NETWORK, FILTER_COUNT };

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static void cleanup_context(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
}

static bool lacked; /* memory, in jansson */

static void *note_malloc(size_t size)
{
    void *pointer = malloc(size);
    lacked |= !pointer;
    return pointer;
}

/* What libseccomp says, unless it has met a lack of memory. */
static int unless_lacking(int result)
{
    return result >= 0 && errno == ENOMEM ? -ENOMEM : result;
}

static int error_named(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {{"EPERM", EPERM}, {"EAFNOSUPPORT", EAFNOSUPPORT}};
    for (size_t i = 0; name && i < COUNT_OF(errors); i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].number;
    return -1;
}

/* The number of the named call, or __NR_SCMP_ERROR where neither libseccomp nor the list has one:
 * the call then stays refused. */
static int call_number(const json_t *numbers, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR)
        return number;
    const json_t *listed = json_object_get(numbers, name);
    return json_is_integer(listed) ? (int)json_integer_value(listed) : __NR_SCMP_ERROR;
}

static scmp_datum_t datum(const json_t *number)
{
    return (scmp_datum_t)json_integer_value(number);
}

/* One argument test: {"argument", "equals", "mask"?} or {"argument", "above"}. */
static bool read_condition(const json_t *test, struct scmp_arg_cmp *ret)
{
    const json_t *argument = json_object_get(test, "argument");
    const json_t *equals = json_object_get(test, "equals");
    const json_t *above = json_object_get(test, "above");
    const json_t *mask = json_object_get(test, "mask");
    if (!json_is_integer(argument))
        return false;
    unsigned int index = (unsigned int)json_integer_value(argument);
    if (json_is_integer(above))
        *ret = (struct scmp_arg_cmp){index, SCMP_CMP_GT, datum(above), 0};
    else if (json_is_integer(equals) && json_is_integer(mask))
        *ret = (struct scmp_arg_cmp){index, SCMP_CMP_MASKED_EQ, datum(mask), datum(equals)};
    else if (json_is_integer(equals))
        *ret = (struct scmp_arg_cmp){index, SCMP_CMP_EQ, datum(equals), 0};
    else
        return false;
    return true;
}

static int add_conditional(scmp_filter_ctx context, uint32_t action, int number, const json_t *when)
{
    size_t i;
    const json_t *alternative;
    json_array_foreach(when, i, alternative)
    {
        struct scmp_arg_cmp tests[CONDITIONS_LIMIT];
        size_t count = json_array_size(alternative);
        if (count == 0 || count > COUNT_OF(tests))
            return -EINVAL;
        for (size_t j = 0; j < count; j++)
            if (!read_condition(json_array_get(alternative, j), &tests[j]))
                return -EINVAL;
        int result = unless_lacking(
            seccomp_rule_add_array(context, action, number, (unsigned int)count, tests));
        if (result < 0)
            return result;
    }
    return 0;
}

static int add_group(scmp_filter_ctx context, uint32_t action, const json_t *numbers,
                     const json_t *group)
{
    const json_t *error = json_object_get(group, "error");
    if (error) {
        int number = error_named(json_string_value(error));
        if (number < 0)
            return -EINVAL;
        action = SCMP_ACT_ERRNO((uint32_t)number);
    }
    const json_t *calls = json_object_get(group, "syscalls");
    const json_t *when = json_object_get(group, "when");
    if (json_array_size(calls) == 0)
        return -EINVAL;
    size_t i;
    const json_t *call;
    json_array_foreach(calls, i, call)
    {
        const char *name = json_string_value(call);
        int number = name ? call_number(numbers, name) : __NR_SCMP_ERROR;
        if (!name)
            return -EINVAL;
        /* Below zero: of another architecture. */
        if (number == __NR_SCMP_ERROR || number < 0)
            continue;
        int result = when
                         ? add_conditional(context, action, number, when)
                         : unless_lacking(seccomp_rule_add_array(context, action, number, 0, NULL));
        if (result < 0)
            return result;
    }
    return 0;
}

/* network: 0 or 1 to take only groups for that variant, and those for both. */
static int add_groups(scmp_filter_ctx context, uint32_t action, const json_t *list, const char *key,
                      int network)
{
    const json_t *groups = json_object_get(list, key);
    if (!json_is_array(groups))
        return -EINVAL;
    size_t i;
    const json_t *group;
    json_array_foreach(groups, i, group)
    {
        const json_t *variant = json_object_get(group, "network");
        if (variant && json_is_true(variant) != (network != 0))
            continue;
        int result = add_group(context, action, json_object_get(list, "numbers"), group);
        if (result < 0)
            return result;
    }
    return 0;
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

static int write_list(const json_t *list, int fd)
{
    CLEANUP(cleanup_context) scmp_filter_ctx context = new_context(SCMP_ACT_ERRNO(ENOSYS));
    if (!context)
        return -ENOMEM;
    int result = add_groups(context, SCMP_ACT_ALLOW, list, "allow", 0);
    if (result == 0)
        result = add_groups(context, SCMP_ACT_ERRNO(EPERM), list, "refuse", 0);
    if (result == 0)
        result = add_groups(context, SCMP_ACT_NOTIFY, list, "kill", 0);
    return result < 0 ? result : unless_lacking(seccomp_export_bpf(context, fd));
}

static int write_guard(const json_t *list, int network, int fd)
{
    CLEANUP(cleanup_context) scmp_filter_ctx context = new_context(SCMP_ACT_ALLOW);
    if (!context)
        return -ENOMEM;
    int result = add_groups(context, SCMP_ACT_ERRNO(EPERM), list, "guard", network);
    return result < 0 ? result : unless_lacking(seccomp_export_bpf(context, fd));
}

static int write_filters(const int fds[FILTER_COUNT])
{
    size_t length = (size_t)(seccomp_list_end - seccomp_list_begin);
    lacked = false;
    json_set_alloc_funcs(note_malloc, free);
    CLEANUP(cleanup_json)
    json_t *list = json_loadb(seccomp_list_begin, length, JSON_REJECT_DUPLICATES, NULL);
    if (!list || lacked)
        return lacked ? -ENOMEM : -EINVAL;
    errno = 0;
    /* The library probes the kernel once and remembers a failure for ever; the loading tells. */
    int result = unless_lacking(seccomp_api_set(NOTIFYING_API));
    if (result == 0)
        result = write_list(list, fds[FILTER_LIST]);
    for (int network = 0; network <= 1 && result == 0; network++)
        result = write_guard(list, network, fds[FILTER_GUARD + network]);
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
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    size_t length = (size_t)status.st_size;
    size_t count = length / sizeof(struct sock_filter);
    if (count == 0 || count > BPF_MAXINSNS)
        return -E2BIG;
    struct sock_filter *instructions = malloc(length);
    if (!instructions)
        return -ENOMEM;
    if (pread(fd, instructions, length, 0) != (ssize_t)length) {
        free(instructions);
        return -EIO;
    }
    *ret = (struct seccomp_program){.instructions = instructions, .count = (unsigned short)count};
    return 0;
}

static int make_programs(const int fds[FILTER_COUNT], struct seccomp_program ret[FILTER_COUNT])
{
    int result = write_filters_apart(fds);
    for (int i = 0; i < FILTER_COUNT && result == 0; i++)
        result = read_program(fds[i], &ret[i]);
    for (int i = 0; i < FILTER_COUNT && result < 0; i++)
        free(ret[i].instructions);
    return result;
}

int seccomp_filters_make(struct seccomp_filters *ret)
{
    int fds[FILTER_COUNT];
    struct seccomp_program programs[FILTER_COUNT] = {{.count = 0}};
    int result = 0;
    for (int i = 0; i < FILTER_COUNT; i++) {
        fds[i] = memfd_create("seccomp", MFD_CLOEXEC);
        if (fds[i] < 0)
            result = -errno;
    }
    if (result == 0)
        result = make_programs(fds, programs);
    for (int i = 0; i < FILTER_COUNT; i++)
        close_fd(fds[i]);
    if (result < 0) {
        errno = -result;
        return -1;
    }
    *ret = (struct seccomp_filters){
        .list = programs[FILTER_LIST],
        .guard = {programs[FILTER_GUARD], programs[FILTER_GUARD_NETWORK]},
    };
    return 0;
}
