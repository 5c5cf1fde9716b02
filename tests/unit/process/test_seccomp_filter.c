/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters as the kernel would evaluate them: an interpreter of classic BPF over struct
 * seccomp_data runs both and keeps the strictest verdict (seccomp(2)).
 */
#include <errno.h>
#include <jansson.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "backends/process/supervisor/filter/seccomp_filter.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))
#define HIGH          (UINT64_C(1) << 40)
#define X32           0x40000000
#define NUMBERS       1024
#define STEPS_LIMIT   BPF_MAXINSNS

static struct seccomp_filters filters;
static json_t *list;
static bool named[NUMBERS];

static bool jump_holds(unsigned short code, uint32_t accumulator, uint32_t operand)
{
    switch (BPF_OP(code)) {
    case BPF_JA:
        return true;
    case BPF_JEQ:
        return accumulator == operand;
    case BPF_JGT:
        return accumulator > operand;
    case BPF_JGE:
        return accumulator >= operand;
    case BPF_JSET:
        return accumulator & operand;
    default:
        ck_abort_msg("jump %#x", code);
        return false;
    }
}

static uint32_t evaluate(const struct seccomp_program *program, const struct seccomp_data *data)
{
    uint32_t accumulator = 0;
    size_t at = 0;
    for (size_t steps = 0; steps < STEPS_LIMIT && at < program->count; steps++) {
        const struct sock_filter *now = &program->instructions[at++];
        if (now->code == (BPF_RET | BPF_K))
            return now->k;
        if (now->code == (BPF_LD | BPF_W | BPF_ABS)) {
            ck_assert_uint_le(now->k, sizeof(*data) - sizeof(accumulator));
            memcpy(&accumulator, (const char *)data + now->k, sizeof(accumulator));
        } else if (now->code == (BPF_ALU | BPF_AND | BPF_K)) {
            accumulator &= now->k;
        } else {
            ck_assert_msg(BPF_CLASS(now->code) == BPF_JMP, "instruction %#x", now->code);
            if (BPF_OP(now->code) == BPF_JA)
                at += now->k;
            else
                at += jump_holds(now->code, accumulator, now->k) ? now->jt : now->jf;
        }
    }
    ck_abort_msg("no end");
    return 0;
}

/* Lower is stricter but for the two that kill, as the kernel sorts them by the signed action. */
static uint32_t strictest(uint32_t left, uint32_t right)
{
    int32_t left_action = (int32_t)(left & SECCOMP_RET_ACTION_FULL);
    int32_t right_action = (int32_t)(right & SECCOMP_RET_ACTION_FULL);
    return left_action <= right_action ? left : right;
}

static uint32_t verdict(const struct seccomp_data *data, int network)
{
    return strictest(evaluate(&filters.guard[network], data), evaluate(&filters.list, data));
}

static uint32_t call(int number, uint64_t first, uint64_t second, int network)
{
    struct seccomp_data data = {
        .nr = number, .arch = AUDIT_ARCH_X86_64, .args = {first, second, 0, 0, 0, 0}};
    return verdict(&data, network);
}

/* By libseccomp or by the list itself, as the filter is made; below zero where there is none. */
static int number_of(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    const json_t *own = json_object_get(json_object_get(list, "numbers"), name);
    return number == __NR_SCMP_ERROR && own ? (int)json_integer_value(own) : number;
}

static void note_names(const char *key)
{
    size_t i;
    size_t j;
    const json_t *group;
    const json_t *name;
    json_array_foreach(json_object_get(list, key), i, group)
    {
        json_array_foreach(json_object_get(group, "syscalls"), j, name)
        {
            int number = number_of(json_string_value(name));
            if (number >= 0 && number < NUMBERS)
                named[number] = true;
        }
    }
}

static void set_up(void)
{
    ck_assert_int_eq(seccomp_filters_make(&filters), 0);
    list = json_load_file(SECCOMP_LIST_FILE, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(list);
    note_names("allow");
    note_names("refuse");
    note_names("kill");
}

static void tear_down(void)
{
    json_decref(list);
}

/* With arguments that no guard takes away: AF_UNIX, no flags. */
static void expect_group(const json_t *group, uint32_t expected)
{
    size_t i;
    const json_t *name;
    bool unix_only = strcmp(json_string_value(json_object_get(group, "name")), "sockets") == 0;
    json_array_foreach(json_object_get(group, "syscalls"), i, name)
    {
        int number = number_of(json_string_value(name));
        for (int network = 0; number >= 0 && network <= 1; network++) {
            uint32_t found = call(number, unix_only ? 1 : 0, 0, network);
            ck_assert_msg(found == expected, "%s: %#x", json_string_value(name), found);
        }
    }
}

START_TEST(every_call_as_its_group_says)
{
    static const struct {
        const char *key;
        uint32_t verdict;
    } keys[] = {
        {"allow", SECCOMP_RET_ALLOW}, {"refuse", ERRNO(EPERM)}, {"kill", SECCOMP_RET_USER_NOTIF}};
    size_t i;
    const json_t *group;
    const json_t *groups = json_object_get(list, keys[_i].key);
    ck_assert_uint_gt(json_array_size(groups), 0);
    json_array_foreach(groups, i, group) expect_group(group, keys[_i].verdict);
}
END_TEST

START_TEST(calls_without_a_group_do_not_exist)
{
    int count = 0;
    for (int number = 0; number < NUMBERS; number++) {
        if (named[number])
            continue;
        count++;
        ck_assert_msg(call(number, 0, 0, 0) == ERRNO(ENOSYS), "%d", number);
    }
    ck_assert_int_gt(count, 0);
    ck_assert(!named[SYS_clone3]);
}
END_TEST

START_TEST(foreign_numbers_kill)
{
    static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0};
    for (int number = 0; number < NUMBERS; number++) {
        ck_assert_uint_eq(call(number | X32, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            struct seccomp_data data = {.nr = number, .arch = others[i]};
            ck_assert_uint_eq(verdict(&data, 0), SECCOMP_RET_KILL_PROCESS);
        }
    }
}
END_TEST

static const struct {
    int number;
    uint64_t first;
    uint64_t second;
    uint32_t without_network;
    uint32_t with_network;
} arguments[] = {
#define SAME(number, first, second, verdict)    \
    {                                           \
        number, first, second, verdict, verdict \
    }
#define CLONE_REFUSED(flag) \
    SAME(SYS_clone, flag, 0, ERRNO(EPERM)), SAME(SYS_clone, (flag) | 17 | HIGH, 0, ERRNO(EPERM))
    SAME(SYS_clone, 17, 0, SECCOMP_RET_ALLOW),
    SAME(SYS_clone, 0x3d0f00, 0, SECCOMP_RET_ALLOW), /* a thread */
    SAME(SYS_clone, 17 | HIGH, 0, SECCOMP_RET_ALLOW),
    CLONE_REFUSED(0x2000),
    CLONE_REFUSED(0x8000),
    CLONE_REFUSED(0x20000),
    CLONE_REFUSED(0x800000),
    CLONE_REFUSED(0x2000000),
    CLONE_REFUSED(0x4000000),
    CLONE_REFUSED(0x8000000),
    CLONE_REFUSED(0x10000000),
    CLONE_REFUSED(0x20000000),
    CLONE_REFUSED(0x40000000),
    SAME(SYS_ioctl, 0, 0x5412, ERRNO(EPERM)),
    SAME(SYS_ioctl, 0, HIGH | 0x5412, ERRNO(EPERM)),
    SAME(SYS_ioctl, 0, 0x541C, ERRNO(EPERM)),
    SAME(SYS_ioctl, 0, (UINT64_C(1) << 32) | 0x541C, ERRNO(EPERM)),
    SAME(SYS_ioctl, 0x5412, 0x5401, SECCOMP_RET_ALLOW),
    SAME(SYS_personality, 0, 0, SECCOMP_RET_ALLOW),
    SAME(SYS_personality, 0xffffffff, 0, SECCOMP_RET_ALLOW),
    SAME(SYS_personality, 0x40000, 0, ERRNO(ENOSYS)),
    SAME(SYS_socket, 1, 1, SECCOMP_RET_ALLOW),
    SAME(SYS_socketpair, 1, 1, SECCOMP_RET_ALLOW),
    SAME(SYS_socket, 0, 1, ERRNO(EAFNOSUPPORT)),
    SAME(SYS_socket, HIGH | 1, 1, ERRNO(EAFNOSUPPORT)),
    SAME(SYS_socket, HIGH | 2, 1, ERRNO(EAFNOSUPPORT)),
    SAME(SYS_socketpair, HIGH | 2, 1, ERRNO(EAFNOSUPPORT)),
    {SYS_socket, 2, 1, ERRNO(EAFNOSUPPORT), SECCOMP_RET_ALLOW},
    {SYS_socket, 10, 1, ERRNO(EAFNOSUPPORT), SECCOMP_RET_ALLOW},
};

START_TEST(arguments_take_away)
{
    uint32_t without = call(arguments[_i].number, arguments[_i].first, arguments[_i].second, 0);
    uint32_t with = call(arguments[_i].number, arguments[_i].first, arguments[_i].second, 1);
    ck_assert_uint_eq(without, arguments[_i].without_network);
    ck_assert_uint_eq(with, arguments[_i].with_network);
}
END_TEST

START_TEST(every_other_socket_family)
{
    for (uint64_t family = 3; family < 64; family++) {
        if (family == 10)
            continue;
        for (int network = 0; network <= 1; network++) {
            ck_assert_uint_eq(call(SYS_socket, family, 3, network), ERRNO(EAFNOSUPPORT));
            ck_assert_uint_eq(call(SYS_socketpair, family, 3, network), ERRNO(EAFNOSUPPORT));
        }
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("seccomp filter");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, every_call_as_its_group_says, 0, 3);
    tcase_add_test(tests, calls_without_a_group_do_not_exist);
    tcase_add_test(tests, foreign_numbers_kill);
    tcase_add_loop_test(tests, arguments_take_away, 0, COUNT_OF(arguments));
    tcase_add_test(tests, every_other_socket_family);
    return run_suite("seccomp filter", &tests, 1);
}
