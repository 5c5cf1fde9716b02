/* SPDX-License-Identifier: Apache-2.0 */
/* What a container is made of: only image, limits and labels vary, and whatever an engine changes
 * is seen in the read-back. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/random.h"
#include "backends/docker/container/container_config.h"
#include "backends/guest_runs/container/owner.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "tap_suite.h"

#define ROUNDS 10000

static const char id[] = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static json_t *make(const struct run_limits *limits, const char *image, const char *run_id)
{
    static const struct owner owner = {.boot = "b", .space = "pid:[1]", .pid = 7, .start = 9};
    static const char *const seccomp[2] = {"{}", "{}"};
    struct run_description description = {.limits = *limits};
    (void)snprintf(description.run_id, sizeof(description.run_id), "%s", run_id);
    return container_config_for_run(&description, "", image, &owner, seccomp, 1000);
}

static json_t *everyday(void)
{
    static const struct run_limits limits = {
        .wall_ms = 1000,
        .cpu_ms = 1500,
        .memory_bytes = 64 << 20,
        .processes = 16,
        .open_files = 32,
        .file_bytes = 1 << 20,
        .scratch_bytes = 1 << 20,
        .scratch_inodes = 100,
    };
    return make(&limits, id, "0");
}

/* Removes the members that may vary; the rest must be the same for all. */
static void strip(json_t *config)
{
    static const char *const varying[] = {"Memory", "MemorySwap", "PidsLimit", "Ulimits", "Tmpfs"};
    json_t *host = json_object_get(config, "HostConfig");
    ck_assert_int_eq(json_object_del(config, "Image"), 0);
    ck_assert_int_eq(json_object_del(config, "Labels"), 0);
    for (size_t i = 0; i < COUNT_OF(varying); i++)
        ck_assert_int_eq(json_object_del(host, varying[i]), 0);
}

START_TEST(gvisor_counts_processes_itself)
{
    static const struct run_limits limits = {.processes = 16};
    static const struct run_limits none = {.processes = 0};
    json_auto_t *config = make(&limits, id, "0");
    json_auto_t *as_ever = make(&none, id, "0");
    json_auto_t *suited = make(&none, id, "0");
    ck_assert(container_config_suit_gvisor(config, &limits));
    const json_t *host = json_object_get(config, "HostConfig");
    ck_assert_int_gt(json_integer_value(json_object_get(host, "PidsLimit")), 128);
    json_auto_t *wanted = json_pack("{s:s, s:i, s:i}", "Name", "nproc", "Soft", 17, "Hard", 17);
    const json_t *rlimits = json_object_get(host, "Ulimits");
    ck_assert(json_equal(json_array_get(rlimits, json_array_size(rlimits) - 1), wanted));
    ck_assert(container_config_suit_gvisor(suited, &none));
    ck_assert(json_equal(suited, as_ever));
}
END_TEST

START_TEST(only_the_variable_members_vary)
{
    uint64_t state = 1;
    json_auto_t *base = everyday();
    strip(base);
    for (int round = 0; round < ROUNDS; round++) {
        char image[24];
        char run_id[24];
        struct run_limits limits;
        uint64_t values[sizeof(limits) / sizeof(uint64_t)];
        for (size_t i = 0; i < COUNT_OF(values); i++)
            values[i] = random_next(&state) >> (random_next(&state) % 40 + 2);
        memcpy(&limits, values, sizeof(limits));
        (void)snprintf(image, sizeof(image), "%llx", (unsigned long long)random_next(&state));
        (void)snprintf(run_id, sizeof(run_id), "%llx", (unsigned long long)random_next(&state));
        json_auto_t *config = make(&limits, image, run_id);
        ck_assert_ptr_nonnull(config);
        ck_assert_str_eq(json_string_value(json_object_get(config, "Image")), image);
        strip(config);
        ck_assert(json_equal(config, base));
    }
}
END_TEST

START_TEST(the_constant_is_strict)
{
    json_auto_t *config = everyday();
    const json_t *host = json_object_get(config, "HostConfig");
    ck_assert_str_eq(json_string_value(json_object_get(config, "User")), "65534:65534");
    ck_assert(json_is_true(json_object_get(config, "NetworkDisabled")));
    ck_assert_str_eq(json_string_value(json_object_get(host, "NetworkMode")), "none");
    ck_assert(json_is_true(json_object_get(host, "ReadonlyRootfs")));
    ck_assert(json_is_false(json_object_get(host, "Privileged")));
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(host, "CapDrop"), 0)), "ALL");
    ck_assert(json_equal(json_object_get(host, "Memory"), json_object_get(host, "MemorySwap")));
    ck_assert_int_eq(json_integer_value(json_object_get(host, "PidsLimit")), 17);
}
END_TEST

/* As engines return it: empty members written as null, their own choices filled in. */
static json_t *as_made(const json_t *asked)
{
    json_t *host = json_deep_copy(json_object_get(asked, "HostConfig"));
    json_t *config = json_deep_copy(asked);
    ck_assert_int_eq(json_object_set_new(host, "Binds", json_null()), 0);
    ck_assert_int_eq(json_object_set_new(host, "Runtime", json_string("runc")), 0);
    ck_assert_int_eq(json_object_set_new(host, "ShmSize", json_integer(67108864)), 0);
    ck_assert_int_eq(json_object_set_new(host, "BlkioWeight", json_integer(0)), 0);
    ck_assert_int_eq(json_object_del(config, "HostConfig"), 0);
    ck_assert_int_eq(json_object_set_new(config, "Env", json_pack("[s]", "PATH=/bin")), 0);
    return json_pack("{s:s, s:[], s:n, s:o, s:o}", "Image", id, "Mounts", "ExecIDs", "Config",
                     config, "HostConfig", host);
}

START_TEST(the_right_container_is_taken)
{
    char field[100] = "";
    json_auto_t *asked = everyday();
    json_auto_t *made = as_made(asked);
    ck_assert_msg(container_attest(asked, made, field, sizeof(field)), "%s", field);
    ck_assert(!container_attest(asked, NULL, field, sizeof(field)));
}
END_TEST

static void expect_seen(json_t *made, const json_t *asked, const char *expected)
{
    char field[100] = "";
    ck_assert_msg(!container_attest(asked, made, field, sizeof(field)), "%s", expected);
    ck_assert_str_eq(field, expected);
}

/* Each member of the request, knocked out in turn, and each turned into something else. */
START_TEST(every_changed_member_is_seen)
{
    json_auto_t *asked = everyday();
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(asked, "HostConfig"), name, value)
    {
        char expected[100];
        (void)snprintf(expected, sizeof(expected), "HostConfig.%s", name);
        json_auto_t *made = as_made(asked);
        json_t *host = json_object_get(made, "HostConfig");
        ck_assert_int_eq(json_object_set_new(host, name, json_string("other")), 0);
        expect_seen(made, asked, expected);
    }
    static const char *const strict[] = {"ReadonlyRootfs", "CapDrop", "SecurityOpt", "PidsLimit",
                                         "Memory",         "IpcMode", "MaskedPaths", "Ulimits"};
    for (size_t i = 0; i < COUNT_OF(strict); i++) {
        char expected[100];
        (void)snprintf(expected, sizeof(expected), "HostConfig.%s", strict[i]);
        json_auto_t *made = as_made(asked);
        ck_assert_int_eq(json_object_del(json_object_get(made, "HostConfig"), strict[i]), 0);
        expect_seen(made, asked, expected);
    }
}
END_TEST

/* Members that an engine could have changed; "" is the answer itself. */
static const struct {
    const char *part, *name;
    const char *value; /* JSON; NULL: it is not there */
    const char *seen;  /* NULL: part and name */
} others[] = {
    {"", "Image", "\"sha256:ff\"", "Image"},
    {"", "ExecIDs", "[\"ff\"]", "ExecIDs"},
    {"", "Mounts", "[{}]", "Mounts"},
    {"", "HostConfig", NULL, "HostConfig"},
    {"", "Config", NULL, "Config"},
    {"HostConfig", "NewInLaterEngines", "true", NULL},
    {"HostConfig", "Annotations", "{\"a\":\"b\"}", NULL},
    {"HostConfig", "StorageOpt", "{\"size\":\"1G\"}", NULL},
    {"HostConfig", "Dns", "[\"192.0.2.1\"]", NULL},
    {"HostConfig", "ContainerIDFile", "\"/tmp/id\"", NULL},
    {"Config", "User", "\"0:0\"", NULL},
    {"Config", "Hostname", "\"other\"", NULL},
    {"Config", "Domainname", "\"other\"", NULL},
    {"Config", "WorkingDir", "\"/\"", NULL},
    {"Config", "Entrypoint", "[\"/bin/sh\"]", NULL},
    {"Config", "Cmd", "[\"other\"]", NULL},
    {"Config", "Tty", "true", NULL},
    {"Config", "Healthcheck", "{\"Test\":[\"CMD\",\"true\"]}", NULL},
    {"Config", "Healthcheck", "{\"Test\":[\"NONE\",\"true\"]}", NULL},
    {"Config", "Healthcheck", "{\"Test\":[]}", NULL},
    {"Config", "Healthcheck", "{\"Test\":[\"NONE\"],\"Interval\":5,\"Command\":\"true\"}", NULL},
    {"Config", "Healthcheck", "null", NULL},
    {"Config", "OpenStdin", "false", NULL},
    {"Config", "StdinOnce", "false", NULL},
    {"Config", "Volumes", "{\"/data\":{}}", NULL},
    {"Config", "NetworkDisabled", "false", NULL},
    {"Config", "Labels", NULL, "Config.Labels.code-execute.boot"},
    {"Config", "Labels", "{\"code-execute.boot\":\"other\"}", "Config.Labels.code-execute.boot"},
};

START_TEST(an_unrequested_member_is_found)
{
    char path[64];
    const char *part = others[_i].part;
    const char *name = others[_i].name;
    json_auto_t *asked = everyday();
    json_auto_t *made = as_made(asked);
    json_t *object = part[0] == '\0' ? made : json_object_get(made, part);
    (void)snprintf(path, sizeof(path), "%s.%s", part, name);
    if (others[_i].value == NULL)
        ck_assert_int_eq(json_object_del(object, name), 0);
    else
        ck_assert_int_eq(
            json_object_set_new(object, name, json_loads(others[_i].value, JSON_DECODE_ANY, NULL)),
            0);
    expect_seen(made, asked, others[_i].seen != NULL ? others[_i].seen : path);
}
END_TEST

/* An engine merges them from the image; they have no effect on the run. */
START_TEST(members_of_an_image_are_accepted)
{
    static const char *const members[][2] = {
        {"Healthcheck", "{\"Test\":[\"NONE\"],\"Interval\":5000000000,\"Timeout\":3000000000,"
                        "\"StartPeriod\":1,\"StartInterval\":2,\"Retries\":2}"},
        {"ExposedPorts", "{\"80/tcp\":{}}"},
        {"StopSignal", "\"SIGINT\""},
        {"Shell", "[\"/bin/bash\",\"-c\"]"},
        {"OnBuild", "[\"RUN true\"]"},
        {"Env", "[\"A=b\"]"},
    };
    char field[100];
    json_auto_t *asked = everyday();
    json_auto_t *made = as_made(asked);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        ck_assert_int_eq(json_object_set_new(json_object_get(made, "Config"), members[i][0],
                                             json_loads(members[i][1], JSON_DECODE_ANY, NULL)),
                         0);
    ck_assert_msg(container_attest(asked, made, field, sizeof(field)), "%s", field);
}
END_TEST

static const char *argument_of(const json_t *config)
{
    return json_string_value(json_array_get(json_object_get(config, "Entrypoint"), 1));
}

/* The operator's settings change only their own members. */
START_TEST(runtime_and_network_are_only_themselves)
{
    static const char *const seccomp[2] = {"{}", "{}"};
    struct run_description description = {.limits = {.memory_bytes = 1}};
    json_auto_t *plain = container_config_template(&description, "", id, seccomp);
    description.network = true;
    json_auto_t *other = container_config_template(&description, "crun", id, seccomp);
    json_t *host = json_object_get(other, "HostConfig");
    ck_assert_str_eq(json_string_value(json_object_get(host, "Runtime")), "crun");
    ck_assert_str_eq(json_string_value(json_object_get(host, "NetworkMode")), "bridge");
    ck_assert(json_is_false(json_object_get(other, "NetworkDisabled")));
    ck_assert_str_eq(argument_of(plain), GUEST_WITHOUT_NETWORK);
    ck_assert_str_eq(argument_of(other), GUEST_WITH_NETWORK);
    char field[100];
    json_auto_t *made = as_made(other);
    ck_assert(!container_attest(other, made, field, sizeof(field)));
    ck_assert_str_eq(field, "HostConfig.Runtime");
    ck_assert_int_eq(json_object_del(host, "Runtime"), 0);
    ck_assert_int_eq(json_object_del(host, "NetworkMode"), 0);
    ck_assert_int_eq(json_object_del(json_object_get(plain, "HostConfig"), "NetworkMode"), 0);
    ck_assert_int_eq(json_object_del(other, "NetworkDisabled"), 0);
    ck_assert_int_eq(json_object_del(plain, "NetworkDisabled"), 0);
    ck_assert_int_eq(json_object_del(plain, "Entrypoint"), 0);
    ck_assert_int_eq(json_object_del(other, "Entrypoint"), 0);
    ck_assert(json_equal(plain, other));
}
END_TEST

static const char *tmpfs_of(const json_t *config, const char *path)
{
    const json_t *host = json_object_get(config, "HostConfig");
    return json_string_value(json_object_get(json_object_get(host, "Tmpfs"), path));
}

static json_int_t largest_file_of(const json_t *config)
{
    const json_t *limits = json_object_get(json_object_get(config, "HostConfig"), "Ulimits");
    size_t index;
    const json_t *limit;
    json_array_foreach(limits, index, limit)
    {
        if (strcmp(json_string_value(json_object_get(limit, "Name")), "fsize") != 0)
            continue;
        ck_assert(json_equal(json_object_get(limit, "Soft"), json_object_get(limit, "Hard")));
        return json_integer_value(json_object_get(limit, "Hard"));
    }
    return 0;
}

/* The guest writes them into the working directory; the program's own limit is the guest's to set.
 */
START_TEST(files_by_reference_have_room_of_their_own)
{
    static const struct {
        uint64_t scratch, file, sizes[2];
        const char *home;
        json_int_t largest;
    } rows[] = {
        {1 << 20, 1000, {3 << 20, 1}, ",size=4259840,", 3 << 20},
        {1 << 20, 1000, {1, 999}, ",size=1179648,", 1000},
        {0, 0, {3 << 20, 1}, ",exec,mode", 0},
    };
    static const char *const seccomp[2] = {"{}", "{}"};
    struct run_file files[] = {
        {.length = rows[_i].sizes[0], .by_reference = true},
        {.length = 5000, .content = (unsigned char *)(uintptr_t) "inline"},
        {.length = rows[_i].sizes[1], .by_reference = true},
    };
    struct run_description description = {
        .files = files,
        .file_count = COUNT_OF(files),
        .limits = {.scratch_bytes = rows[_i].scratch, .file_bytes = rows[_i].file}};
    json_auto_t *config = container_config_template(&description, "", id, seccomp);
    ck_assert_ptr_nonnull(strstr(tmpfs_of(config, RUN_HOME), rows[_i].home));
    ck_assert_int_eq(largest_file_of(config), rows[_i].largest);
    const char *temporary = rows[_i].scratch ? ",size=1048576," : ",exec,mode";
    ck_assert_ptr_nonnull(strstr(tmpfs_of(config, "/tmp"), temporary));
}
END_TEST

START_TEST(nothing_is_mounted)
{
    static const char *const mounts[] = {
        "[{\"Type\":\"bind\",\"Source\":\"/w\",\"Destination\":\"/work\",\"RW\":false}]",
        "[{\"Type\":\"volume\",\"Destination\":\"/w\"}]",
        "[{}]",
    };
    for (size_t i = 0; i < COUNT_OF(mounts); i++) {
        char field[100] = "";
        json_auto_t *asked = everyday();
        json_auto_t *made = as_made(asked);
        ck_assert(container_attest(asked, made, field, sizeof(field)));
        ck_assert_int_eq(json_object_set_new(made, "Mounts", json_loads(mounts[i], 0, NULL)), 0);
        ck_assert(!container_attest(asked, made, field, sizeof(field)));
        ck_assert_str_eq(field, "Mounts");
    }
}
END_TEST

/* Process 7 began at 9, 3 cannot be looked at, and there is no other. */
static enum owner_life look_at_few(int64_t pid, uint64_t start)
{
    if (pid == 3)
        return OWNER_UNKNOWN;
    return pid == 7 && start == 9 ? OWNER_LIVES : OWNER_ENDED;
}

START_TEST(strays_are_distinguished_from_owned_containers)
{
    static const struct owner self = {.boot = "b", .space = "pid:[1]", .pid = 5, .start = 6};
    static const struct {
        struct owner owner;
        int64_t now;
        bool stray;
    } cases[] = {
        {{"b", "pid:[1]", 7, 9}, 10, false},   /* lives, */
        {{"b", "pid:[1]", 7, 9}, 1001, false}, /* for however long */
        {{"b", "pid:[1]", 7, 8}, 10, true},    /* another process has its number */
        {{"b", "pid:[1]", 8, 9}, 10, true},    /* ended */
        {{"b", "pid:[1]", 3, 9}, 10, false},   /* cannot be looked at */
        {{"b", "pid:[1]", 3, 9}, 1001, true},  /* past its latest time */
        {{"b", "pid:[2]", 8, 9}, 10, false},   /* another namespace */
        {{"b", "pid:[2]", 7, 9}, 1001, true},
        {{"a", "pid:[1]", 8, 9}, 10, false}, /* another kernel */
        {{"a", "pid:[1]", 7, 9}, 1001, true},
        {{"b", "pid:[1]", 8, 0}, 10, false}, /* labels that are not ours */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *labels = owner_labels(&cases[i].owner, "0", 1000);
        ck_assert_msg(owner_is_stray(labels, &self, cases[i].now, look_at_few) == cases[i].stray,
                      "case %zu", i);
    }
    json_auto_t *foreign = json_pack("{s:s}", "code-execute.boot", "b");
    ck_assert(!owner_is_stray(foreign, &self, 10, look_at_few));
    ck_assert(!owner_is_stray(NULL, &self, 10, look_at_few));
}
END_TEST

START_TEST(the_kernel_says_who_has_ended)
{
    struct owner me;
    ck_assert(owner_self(&me));
    ck_assert_int_eq(owner_look(me.pid, me.start), OWNER_LIVES);
    ck_assert_int_eq(owner_look(me.pid, me.start + 1), OWNER_ENDED);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct owner own;
        _exit(!owner_self(&own) || owner_look(own.pid, own.start) != OWNER_LIVES);
    }
    siginfo_t end;
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(end.si_status, 0);
    ck_assert_int_eq(owner_look(child, me.start), OWNER_ENDED); /* not reaped yet */
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(owner_look(child, me.start), OWNER_ENDED);
    ck_assert_int_eq(owner_look(0, 1), OWNER_UNKNOWN);
    ck_assert_int_eq(owner_look(-1, 1), OWNER_UNKNOWN);
    ck_assert_int_eq(owner_look((INT64_C(1) << 32) + me.pid, 1), OWNER_UNKNOWN);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker config");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, gvisor_counts_processes_itself);
    tcase_add_test(cases, only_the_variable_members_vary);
    tcase_add_test(cases, the_constant_is_strict);
    tcase_add_test(cases, the_right_container_is_taken);
    tcase_add_test(cases, every_changed_member_is_seen);
    tcase_add_test(cases, members_of_an_image_are_accepted);
    tcase_add_loop_test(cases, an_unrequested_member_is_found, 0, COUNT_OF(others));
    tcase_add_test(cases, runtime_and_network_are_only_themselves);
    tcase_add_test(cases, nothing_is_mounted);
    tcase_add_loop_test(cases, files_by_reference_have_room_of_their_own, 0, 3);
    tcase_add_test(cases, strays_are_distinguished_from_owned_containers);
    tcase_add_test(cases, the_kernel_says_who_has_ended);
    return run_suite("docker config", &cases, 1);
}
