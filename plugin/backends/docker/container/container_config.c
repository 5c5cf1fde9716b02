/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the container's configuration: see container_config.h. */
#include "backends/docker/container/container_config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/container/bootstrap.h"
#include "backends/docker/container/waiting_program.h"
#include "base/cleanup.h"

#define STRINGIFY(number) #number
#define TEXT_OF(number)   STRINGIFY(number)
#define USER_TEXT         TEXT_OF(CONTAINER_USER) ":" TEXT_OF(CONTAINER_USER)

#define ONE_PROCESSOR    INT64_C(1000000000) /* NanoCpus */
#define OWN_PROCESSES    2                   /* the engine's init and the bootstrap */
#define CPU_HARD_EXTRA_S 1                   /* SIGKILL this long after SIGXCPU */
#define CORE_BYTES       1 /* neither a file nor, as with 0, the program of a core_pattern */

/* After which no owner can want the container any more. */
#define LATEST_MARGIN_S  600
#define LATEST_LONGEST_S 300000 /* the highest wall_ms that a policy can give */

/* What no container sees, and what none writes to, whatever the engine's own lists are. */
static const char *const masked_paths[] = {
    "/proc/acpi",          "/proc/asound",        "/proc/interrupts",  "/proc/kcore",
    "/proc/keys",          "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
    "/proc/sysrq-trigger", "/proc/timer_list",    "/proc/timer_stats", "/sys",
};
static const char *const read_only_paths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"};

static json_t *strings(const char *const *texts, size_t count)
{
    json_auto_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(texts[i])) != 0)
            return NULL;
    return TAKE_POINTER(array);
}

static bool add_limit(json_t *limits, const char *name, uint64_t soft, uint64_t hard)
{
    if (soft == 0)
        return true;
    json_t *limit = json_pack("{s:s, s:I, s:I}", "Name", name, "Soft", (json_int_t)soft, "Hard",
                              (json_int_t)hard);
    return json_array_append_new(limits, limit) == 0;
}

static json_t *resource_limits(const struct run_limits *limits)
{
    json_auto_t *array = json_array();
    uint64_t seconds = limits->cpu_ms / 1000 + (limits->cpu_ms % 1000 != 0);
    json_t *core =
        json_pack("{s:s, s:i, s:i}", "Name", "core", "Soft", CORE_BYTES, "Hard", CORE_BYTES);
    if (json_array_append_new(array, core) != 0 ||
        !add_limit(array, "cpu", seconds, seconds + CPU_HARD_EXTRA_S) ||
        !add_limit(array, "fsize", limits->file_bytes, limits->file_bytes) ||
        !add_limit(array, "nofile", limits->open_files, limits->open_files))
        return NULL;
    return TAKE_POINTER(array);
}

/* Each may become as large as the run's scratch; the memory limit counts what is in all of them.
 * IpcMode none brings no /dev/shm, which semaphores and shared memory of programs need. */
static json_t *scratch(const struct run_limits *limits)
{
    char caps[96] = "";
    char home[192];
    char temporary[192];
    char shared[192];
    int length = 0;
    if (limits->scratch_bytes)
        length = snprintf(caps, sizeof(caps), ",size=%" PRIu64, limits->scratch_bytes);
    if (limits->scratch_inodes)
        (void)snprintf(caps + length, sizeof(caps) - (size_t)length, ",nr_inodes=%" PRIu64,
                       limits->scratch_inodes);
    (void)snprintf(home, sizeof(home), "rw,nosuid,nodev,exec%s,mode=0700,uid=%d,gid=%d", caps,
                   CONTAINER_USER, CONTAINER_USER);
    (void)snprintf(temporary, sizeof(temporary), "rw,nosuid,nodev,exec%s,mode=1777", caps);
    (void)snprintf(shared, sizeof(shared), "rw,nosuid,nodev,noexec%s,mode=1777", caps);
    return json_pack("{s:s, s:s, s:s}", BOOTSTRAP_HOME, home, "/tmp", temporary, "/dev/shm",
                     shared);
}

/* An empty value of what is not given a wish is the strict one. */
static json_t *isolation(const struct container_wish *wish)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:[s], s:[], s:[], s:[s, s+], "
        "s:o, s:o}",
        "NetworkMode", wish->network ? "bridge" : "none", "IpcMode", "none", "CgroupnsMode",
        "private", "PidMode", "", "UTSMode", "", "UsernsMode", "", "Privileged", 0,
        "PublishAllPorts", 0, "ReadonlyRootfs", 1, "Init", 1, "AutoRemove", 0, "CapDrop", "ALL",
        "CapAdd", "GroupAdd", "SecurityOpt", "no-new-privileges=true", "seccomp=", wish->seccomp,
        "MaskedPaths", strings(masked_paths, COUNT_OF(masked_paths)), "ReadonlyPaths",
        strings(read_only_paths, COUNT_OF(read_only_paths)));
}

static json_t *outside(void)
{
    return json_pack("{s:[], s:[], s:[], s:[], s:[], s:[], s:[], s:{}, s:{}, s:[], s:s, s:s}",
                     "Binds", "Mounts", "VolumesFrom", "Links", "Devices", "DeviceRequests",
                     "DeviceCgroupRules", "PortBindings", "Sysctls", "ExtraHosts", "Cgroup", "",
                     "VolumeDriver", "");
}

static json_t *resources(const struct run_limits *limits)
{
    json_int_t processes = limits->processes ? (json_int_t)(limits->processes + OWN_PROCESSES) : 0;
    return json_pack("{s:I, s:I, s:I, s:I, s:b, s:i, s:o, s:o, s:{s:s, s:{}}, s:{s:s, s:i}}",
                     "Memory", (json_int_t)limits->memory_bytes, "MemorySwap",
                     (json_int_t)limits->memory_bytes, "PidsLimit", processes, "NanoCpus",
                     (json_int_t)ONE_PROCESSOR, "OomKillDisable", 0, "OomScoreAdj", 0, "Ulimits",
                     resource_limits(limits), "Tmpfs", scratch(limits), "LogConfig", "Type", "none",
                     "Config", "RestartPolicy", "Name", "no", "MaximumRetryCount", 0);
}

static json_t *host_config(const struct container_wish *wish)
{
    json_auto_t *host = isolation(wish);
    json_auto_t *others = outside();
    json_auto_t *limits = resources(wish->limits);
    if (!host || !others || !limits || json_object_update(host, others) != 0 ||
        json_object_update(host, limits) != 0)
        return NULL;
    if (wish->runtime[0] && json_object_set_new(host, "Runtime", json_string(wish->runtime)) != 0)
        return NULL;
    return TAKE_POINTER(host);
}

#define BOOTSTRAP_ARGUMENTS 4 /* the shell, its script, the script's own name */

/* The bootstrap's arguments are behind its script and its own name. */
static json_t *entrypoint(json_t *interpreter)
{
    json_auto_t *command =
        json_pack("[s, s, s, s]", "/bin/sh", "-c", bootstrap_script, "code-execute");
    if (!command || (interpreter && json_array_extend(command, interpreter) != 0))
        return NULL;
    return TAKE_POINTER(command);
}

json_t *container_config(const struct container_wish *wish)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:[], s:[], s:{}, s:{}, s:{s:[s]}, "
                     "s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:O, s:o}",
                     "Image", wish->image, "User", USER_TEXT, "Hostname", "sandbox", "Domainname",
                     "", "WorkingDir", BOOTSTRAP_HOME, "Entrypoint", entrypoint(wish->interpreter),
                     "Cmd", "Env", "Volumes", "ExposedPorts", "Healthcheck", "Test", "NONE", "Tty",
                     0, "OpenStdin", 1, "StdinOnce", 1, "AttachStdin", 1, "AttachStdout", 1,
                     "AttachStderr", 1, "NetworkDisabled", !wish->network, "Labels", wish->labels,
                     "HostConfig", host_config(wish));
}

static json_t *config_of(const struct run_description *description, const char *image,
                         const char *const seccomp[2], json_t *labels, json_t *interpreter)
{
    const struct container_wish wish = {
        .image = image,
        .limits = &description->limits,
        .labels = labels,
        .seccomp = seccomp[description->network != 0],
        .runtime = description->docker.runtime,
        .network = description->network != 0,
        .interpreter = interpreter,
    };
    return labels ? container_config(&wish) : NULL;
}

json_t *container_config_for_run(const struct run_description *description, const char *image,
                                 const struct owner *owner, const char *const seccomp[2],
                                 int64_t now)
{
    uint64_t wall_ms = description->limits.wall_ms;
    uint64_t wall_s = wall_ms / 1000 + (wall_ms % 1000 != 0);
    int64_t latest = now + LATEST_MARGIN_S +
                     (int64_t)(wall_s && wall_s < LATEST_LONGEST_S ? wall_s : LATEST_LONGEST_S);
    json_auto_t *labels = owner_labels(owner, description->run_id, latest);
    return config_of(description, image, seccomp, labels, NULL);
}

/* "a,b" */
static char *join(char *const *names)
{
    size_t size = 1;
    for (char *const *name = names; name && *name; name++)
        size += strlen(*name) + 1;
    char *joined = calloc(1, size);
    char *end = joined;
    for (char *const *name = names; joined && name && *name; name++) {
        if (end != joined)
            *end++ = ',';
        end = stpcpy(end, *name);
    }
    return joined;
}

static bool add_text(json_t *array, const char *name, const char *value)
{
    return json_array_append_new(array, json_sprintf("%s%s", name, value)) == 0;
}

/* An image's command for the language may be another one. */
static bool is_python(const char *command)
{
    const char *slash = strrchr(command, '/');
    return strncmp(slash ? slash + 1 : command, "python", strlen("python")) == 0;
}

/* What the bootstrap starts for runs like this one; NULL where that is their own to start. All of
 * it is the policy's. */
static json_t *interpreter_of(const struct run_description *description)
{
    const struct run_preparation *preparation = &description->preparation;
    char count[16];
    if (preparation->interpreter != RUN_INTERPRETER_PYTHON || !is_python(description->argv[0]))
        return NULL;
    json_auto_t *arguments = json_array();
    bool whole = add_text(arguments, waiting_python_text, "");
    for (uint32_t i = 0; i < preparation->environment_count; i++)
        whole = whole && add_text(arguments, description->environment[i], "");
    (void)snprintf(count, sizeof(count), "%" PRIu32, preparation->argument_count);
    CLEANUP_FREE char *modules = join(preparation->modules);
    whole = whole && modules && add_text(arguments, "CODE_EXECUTE_ARGUMENTS=", count) &&
            add_text(arguments, "CODE_EXECUTE_IMPORT=", modules) && add_text(arguments, "--", "");
    for (uint32_t i = 0; i < preparation->argument_count; i++)
        whole = whole && add_text(arguments, description->argv[i], "");
    return whole ? TAKE_POINTER(arguments) : NULL;
}

json_t *container_config_template(const struct run_description *description, const char *image,
                                  const char *const seccomp[2])
{
    json_auto_t *labels = json_object();
    json_auto_t *interpreter = interpreter_of(description);
    return config_of(description, image, seccomp, labels, interpreter);
}

enum run_interpreter container_config_interpreter(const json_t *template)
{
    bool waits = json_array_size(json_object_get(template, "Entrypoint")) > BOOTSTRAP_ARGUMENTS;
    return waits ? RUN_INTERPRETER_PYTHON : RUN_INTERPRETER_NONE;
}

json_t *container_config_waiting(json_t *template, const struct owner *owner, int64_t now,
                                 uint64_t waiting_s)
{
    int64_t latest = now + LATEST_MARGIN_S + LATEST_LONGEST_S + (int64_t)waiting_s;
    json_auto_t *config = json_copy(template);
    if (!config ||
        json_object_set_new(config, "Labels", owner_labels(owner, "waiting", latest)) != 0)
        return NULL;
    return TAKE_POINTER(config);
}
