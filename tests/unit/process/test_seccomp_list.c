/* SPDX-License-Identifier: Apache-2.0 */
/* The list of system calls as data: each call in one group, each group with its reason. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap_suite.h"

static json_t *list;

static void set_up(void)
{
    json_error_t error;
    list = json_load_file(SECCOMP_LIST_FILE, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(list != NULL, "%s:%d: %s", SECCOMP_LIST_FILE, error.line, error.text);
}

static void tear_down(void)
{
    json_decref(list);
}

/* In how many groups under that key is the call? */
static int count_call(const char *key, const char *name)
{
    int count = 0;
    size_t i;
    size_t j;
    const json_t *group;
    const json_t *call;
    json_array_foreach(json_object_get(list, key), i, group)
        json_array_foreach(json_object_get(group, "syscalls"), j, call) count +=
        strcmp(json_string_value(call), name) == 0;
    return count;
}

static const char *const verdicts[] = {"allow", "refuse", "kill"};

START_TEST(every_call_has_one_verdict)
{
    for (size_t v = 0; v < COUNT_OF(verdicts); v++) {
        size_t i;
        size_t j;
        const json_t *group;
        const json_t *call;
        json_array_foreach(json_object_get(list, verdicts[v]), i, group)
        {
            json_array_foreach(json_object_get(group, "syscalls"), j, call)
            {
                const char *name = json_string_value(call);
                ck_assert_msg(count_call("allow", name) + count_call("refuse", name) +
                                      count_call("kill", name) ==
                                  1,
                              "%s", name);
            }
        }
    }
}
END_TEST

START_TEST(every_group_has_a_reason)
{
    static const char *const keys[] = {"allow", "refuse", "kill", "guard"};
    for (size_t k = 0; k < COUNT_OF(keys); k++) {
        size_t i;
        const json_t *group;
        const json_t *groups = json_object_get(list, keys[k]);
        ck_assert_uint_gt(json_array_size(groups), 0);
        json_array_foreach(groups, i, group)
        {
            ck_assert(json_is_string(json_object_get(group, "name")));
            ck_assert_uint_gt(json_string_length(json_object_get(group, "reason")), 0);
            ck_assert_uint_gt(json_array_size(json_object_get(group, "syscalls")), 0);
        }
    }
}
END_TEST

/* Each of these has been a way out of a sandbox somewhere. */
START_TEST(ways_out_are_not_allowed)
{
    static const char *const names[] = {
        "unshare",
        "setns",
        "mount",
        "umount2",
        "pivot_root",
        "chroot",
        "fsopen",
        "fsmount",
        "move_mount",
        "open_tree",
        "mount_setattr",
        "ptrace",
        "bpf",
        "userfaultfd",
        "perf_event_open",
        "io_uring_setup",
        "io_uring_enter",
        "keyctl",
        "add_key",
        "request_key",
        "kexec_load",
        "init_module",
        "finit_module",
        "delete_module",
        "open_by_handle_at",
        "process_vm_readv",
        "process_vm_writev",
        "pidfd_getfd",
        "clone3",
        "kcmp",
        "settimeofday",
        "clock_settime",
        "reboot",
        "swapon",
        "iopl",
        "ioperm",
        "modify_ldt",
        "quotactl",
        "syslog",
        "acct",
        "memfd_secret",
        "name_to_handle_at",
        "fanotify_init",
        "vhangup",
        "move_pages",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ck_assert_msg(count_call("allow", names[i]) == 0, "%s", names[i]);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("seccomp list");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, every_call_has_one_verdict);
    tcase_add_test(cases, every_group_has_a_reason);
    tcase_add_test(cases, ways_out_are_not_allowed);
    return run_suite("seccomp list", &cases, 1);
}
