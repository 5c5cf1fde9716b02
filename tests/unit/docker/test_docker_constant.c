/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constant of a container's configuration, written down member by member, so that a change of
 * the isolation is a change here too; and what a network changes of it. Single-threaded.
 */
#include <string.h>

#include "backends/docker/container/container_config.h"
#include "backends/guest_runs/container/owner.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "tap_suite.h"

struct member {
    const char *name;
    const char *value; /* JSON */
};

#define SCRATCH "rw,nosuid,nodev,exec,size=1048576,nr_inodes=100,"
#define SHARED  "rw,nosuid,nodev,noexec,size=1048576,nr_inodes=100,"

static const struct member of_config[] = {
    {"AttachStderr", "true"},
    {"AttachStdin", "true"},
    {"AttachStdout", "true"},
    {"Cmd", "[]"},
    {"Domainname", "\"\""},
    {"Env", "[]"},
    {"ExposedPorts", "{}"},
    {"Healthcheck", "{\"Test\":[\"NONE\"]}"},
    {"Hostname", "\"sandbox\""},
    {"Image", "\"i\""},
    {"NetworkDisabled", "true"},
    {"OpenStdin", "true"},
    {"StdinOnce", "true"},
    {"Tty", "false"},
    {"User", "\"65534:65534\""},
    {"Volumes", "{}"},
    {"WorkingDir", "\"/home/sandbox\""},
};

static const struct member of_host[] = {
    {"AutoRemove", "false"},
    {"Binds", "[]"},
    {"CapAdd", "[]"},
    {"CapDrop", "[\"ALL\"]"},
    {"Cgroup", "\"\""},
    {"CgroupnsMode", "\"private\""},
    {"DeviceCgroupRules", "[]"},
    {"DeviceRequests", "[]"},
    {"Devices", "[]"},
    {"ExtraHosts", "[]"},
    {"GroupAdd", "[]"},
    {"Init", "false"},
    {"IpcMode", "\"none\""},
    {"Links", "[]"},
    {"LogConfig", "{\"Type\":\"none\",\"Config\":{}}"},
    {"MaskedPaths",
     "[\"/proc/acpi\",\"/proc/asound\",\"/proc/interrupts\",\"/proc/kcore\",\"/proc/keys\","
     "\"/proc/latency_stats\",\"/proc/sched_debug\",\"/proc/scsi\",\"/proc/sysrq-trigger\","
     "\"/proc/timer_list\",\"/proc/timer_stats\",\"/sys\"]"},
    {"Memory", "67108864"},
    {"MemorySwap", "67108864"},
    {"Mounts", "[]"},
    {"NanoCpus", "1000000000"},
    {"NetworkMode", "\"none\""},
    {"OomKillDisable", "false"},
    {"OomScoreAdj", "0"},
    {"PidMode", "\"\""},
    {"PidsLimit", "17"},
    {"PortBindings", "{}"},
    {"Privileged", "false"},
    {"PublishAllPorts", "false"},
    {"ReadonlyPaths", "[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\"]"},
    {"ReadonlyRootfs", "true"},
    {"RestartPolicy", "{\"Name\":\"no\",\"MaximumRetryCount\":0}"},
    {"SecurityOpt", "[\"no-new-privileges=true\",\"seccomp={0}\"]"},
    {"Sysctls", "{}"},
    {"Tmpfs", "{\"/home/sandbox\":\"" SCRATCH "mode=0700,uid=65534,gid=65534\",\"/tmp\":\"" SCRATCH
              "mode=1777\",\"/dev/shm\":\"" SHARED "mode=1777\"}"},
    {"UTSMode", "\"\""},
    {"Ulimits", "[{\"Name\":\"core\",\"Soft\":1,\"Hard\":1},{\"Name\":\"cpu\",\"Soft\":2,"
                "\"Hard\":3},{\"Name\":\"fsize\",\"Soft\":1048576,\"Hard\":1048576},"
                "{\"Name\":\"nofile\",\"Soft\":32,\"Hard\":32}]"},
    {"UsernsMode", "\"\""},
    {"VolumeDriver", "\"\""},
    {"VolumesFrom", "[]"},
};

static json_t *make(bool network)
{
    static const char *const seccomp[] = {"{0}", "{1}"};
    static const struct owner owner = {.boot = "b", .space = "pid:[1]", .pid = 7, .start = 9};
    const struct run_description description = {
        .limits = {.wall_ms = 1000,
                   .cpu_ms = 1500,
                   .memory_bytes = 64 << 20,
                   .processes = 16,
                   .open_files = 32,
                   .file_bytes = 1 << 20,
                   .scratch_bytes = 1 << 20,
                   .scratch_inodes = 100},
        .network = network,
    };
    return container_config_for_run(&description, "", "i", &owner, seccomp, 1000);
}

/* Each has its value; removes them from the object. */
static void take_members(json_t *object, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_auto_t *wanted = json_loads(members[i].value, JSON_DECODE_ANY, NULL);
        const json_t *value = json_object_get(object, members[i].name);
        CLEANUP_FREE char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        ck_assert_ptr_nonnull(wanted);
        ck_assert_msg(json_equal(value, wanted), "%s: %s", members[i].name, text);
        ck_assert_int_eq(json_object_del(object, members[i].name), 0);
    }
}

/* There are no other members, but for the labels and the command. */
static void expect_members(json_t *config)
{
    json_auto_t *host = json_incref(json_object_get(config, "HostConfig"));
    json_auto_t *command = json_incref(json_object_get(config, "Entrypoint"));
    json_auto_t *wanted = json_pack("[s, s]", GUEST_PATH, GUEST_WITHOUT_NETWORK);
    take_members(config, of_config, COUNT_OF(of_config));
    take_members(host, of_host, COUNT_OF(of_host));
    ck_assert(json_equal(command, wanted));
    ck_assert_uint_eq(json_object_size(host), 0);
    ck_assert_uint_eq(json_object_size(config), 3);
    ck_assert_ptr_nonnull(json_object_get(config, "Labels"));
}

START_TEST(every_member_is_as_written_down)
{
    json_auto_t *config = make(false);
    ck_assert_ptr_nonnull(config);
    expect_members(config);
}
END_TEST

START_TEST(a_network_is_the_bridge_and_its_own_profile)
{
    static const struct member of_network[] = {
        {"NetworkMode", "\"bridge\""},
        {"SecurityOpt", "[\"no-new-privileges=true\",\"seccomp={1}\"]"}};
    static const struct member enabled[] = {{"NetworkDisabled", "false"}};
    json_auto_t *config = make(true);
    json_auto_t *plain = make(false);
    json_t *host = json_object_get(config, "HostConfig");
    json_t *plain_host = json_object_get(plain, "HostConfig");
    take_members(host, of_network, COUNT_OF(of_network));
    take_members(config, enabled, COUNT_OF(enabled));
    for (size_t i = 0; i < COUNT_OF(of_network); i++)
        ck_assert_int_eq(json_object_del(plain_host, of_network[i].name), 0);
    ck_assert_int_eq(json_object_del(plain, "NetworkDisabled"), 0);
    json_auto_t *command = json_pack("[s, s]", GUEST_PATH, GUEST_WITH_NETWORK);
    ck_assert(json_equal(json_object_get(config, "Entrypoint"), command));
    ck_assert_int_eq(json_object_del(config, "Entrypoint"), 0);
    ck_assert_int_eq(json_object_del(plain, "Entrypoint"), 0);
    ck_assert(json_equal(config, plain));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker constant");
    tcase_add_test(cases, every_member_is_as_written_down);
    tcase_add_test(cases, a_network_is_the_bridge_and_its_own_profile);
    return run_suite("docker constant", &cases, 1);
}
