/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the making of the filters (supervisor, at its start) and their loading (payload, the last
 * step before execve).
 */
#include "seccomp_filter.h"

#include <errno.h>
#include <jansson.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../cleanup.h"
#include "sandbox.h"

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

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static void cleanup_context(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
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
        int result = seccomp_rule_add_array(context, action, number, (unsigned int)count, tests);
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
        int result = when ? add_conditional(context, action, number, when)
                          : seccomp_rule_add_array(context, action, number, 0, NULL);
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

/* seccomp_export_bpf_mem() is newer than what stable distributions have; a memfd does. */
static int export_program(scmp_filter_ctx context, struct seccomp_program *ret)
{
    CLEANUP_CLOSE int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = seccomp_export_bpf(context, fd);
    if (result < 0)
        return result;
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

/* A filter for this architecture alone: calls through another one's numbers kill. */
static scmp_filter_ctx new_context(uint32_t default_action)
{
    scmp_filter_ctx context = seccomp_init(default_action);
    if (!context)
        return NULL;
    if (seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0)
        return context;
    seccomp_release(context);
    return NULL;
}

static int make_list(const json_t *list, struct seccomp_program *ret)
{
    CLEANUP(cleanup_context) scmp_filter_ctx context = new_context(SCMP_ACT_ERRNO(ENOSYS));
    if (!context)
        return -ENOMEM;
    int result = add_groups(context, SCMP_ACT_ALLOW, list, "allow", 0);
    if (result == 0)
        result = add_groups(context, SCMP_ACT_ERRNO(EPERM), list, "refuse", 0);
    if (result == 0)
        result = add_groups(context, SCMP_ACT_NOTIFY, list, "kill", 0);
    return result < 0 ? result : export_program(context, ret);
}

static int make_guard(const json_t *list, int network, struct seccomp_program *ret)
{
    CLEANUP(cleanup_context) scmp_filter_ctx context = new_context(SCMP_ACT_ALLOW);
    if (!context)
        return -ENOMEM;
    int result = add_groups(context, SCMP_ACT_ERRNO(EPERM), list, "guard", network);
    return result < 0 ? result : export_program(context, ret);
}

int seccomp_filters_make(struct seccomp_filters *ret)
{
    size_t length = (size_t)(seccomp_list_end - seccomp_list_begin);
    CLEANUP(cleanup_json)
    json_t *list = json_loadb(seccomp_list_begin, length, JSON_REJECT_DUPLICATES, NULL);
    struct seccomp_filters filters = {.list = {.count = 0}};
    /* The library probes the kernel once and remembers a failure for ever; the loading tells. */
    int result = list ? seccomp_api_set(NOTIFYING_API) : -EINVAL;
    if (result == 0)
        result = make_list(list, &filters.list);
    for (int network = 0; network <= 1 && result == 0; network++)
        result = make_guard(list, network, &filters.guard[network]);
    if (result < 0) {
        free(filters.list.instructions);
        free(filters.guard[0].instructions);
        errno = -result;
        return -1;
    }
    *ret = filters;
    return 0;
}

/* flags: SECCOMP_FILTER_FLAG_*; 0, or the listener's descriptor, or -1 with errno. */
static int load(const struct seccomp_program *program, unsigned int flags)
{
    struct sock_fprog loaded = {.len = program->count, .filter = program->instructions};
    if (program->count == 0) {
        errno = ENOTSUP;
        return -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
}

int restrict_system_calls(struct sandbox *sandbox)
{
    const struct seccomp_program *list = &sandbox->filters->list;
    const struct seccomp_program *guard = &sandbox->filters->guard[sandbox->description->network];
    if (load(guard, 0) < 0)
        return -1;
    sandbox->listener = load(list, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (sandbox->listener < 0)
        return -1;
    sandbox->isolation.seccomp_instructions = (uint32_t)list->count + guard->count;
    return 0;
}
