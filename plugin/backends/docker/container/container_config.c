/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what varies in a container's configuration; container.json is the constant part. */
#include "backends/docker/container/container_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/docker/container/embedded_texts.h"
#include "backends/guest_runs/container/run_message.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"

#define OWN_PROCESSES    1 /* the guest */
#define OWN_ARGUMENTS    2 /* the guest, and what of a network it gives */
#define CPU_HARD_EXTRA_S 1 /* SIGKILL this long after SIGXCPU */
#define CORE_BYTES       1 /* no file, and no program of a core_pattern either, which 0 would start */

/* Far beyond what was seen of it: 30 threads of its own, and fewer than two tasks a process. */
#define GVISOR_TASKS      128
#define GVISOR_TASKS_EACH 4

/* After these no owner can want the container any more. */
#define LATEST_MARGIN_S  600
#define LATEST_LONGEST_S 300000 /* the highest wall_ms that a policy can give */

/* 0 is no limit. */
static bool add_limit(json_t *limits, const char *name, uint64_t soft, uint64_t hard)
{
    if (soft == 0)
        return true;
    json_t *limit = json_pack("{s:s, s:I, s:I}", "Name", name, "Soft", (json_int_t)soft, "Hard",
                              (json_int_t)hard);
    return json_array_append_new(limits, limit) == 0;
}

/* The guest writes the run's files, and gives the program its own limit. */
static uint64_t largest_file(const struct run_description *description)
{
    uint64_t largest = description->limits.file_bytes;
    for (size_t i = 0; largest > 0 && i < description->file_count; i++)
        if (description->files[i].by_reference && description->files[i].length > largest)
            largest = description->files[i].length;
    return largest;
}

static json_t *resource_limits(const struct run_description *description)
{
    const struct run_limits *limits = &description->limits;
    uint64_t file_bytes = largest_file(description);
    json_auto_t *array = json_array();
    uint64_t seconds = limits->cpu_ms / 1000 + (limits->cpu_ms % 1000 != 0);
    if (!add_limit(array, "core", CORE_BYTES, CORE_BYTES) ||
        !add_limit(array, "cpu", seconds, seconds + CPU_HARD_EXTRA_S) ||
        !add_limit(array, "fsize", file_bytes, file_bytes) ||
        !add_limit(array, "nofile", limits->open_files, limits->open_files))
        return NULL;
    return TAKE_POINTER(array);
}

#define CAPS_LENGTH 96

/* 0 is no cap. */
static void write_caps(uint64_t bytes, uint64_t inodes, char ret[CAPS_LENGTH])
{
    int length = 0;
    ret[0] = '\0';
    if (bytes)
        length = snprintf(ret, CAPS_LENGTH, ",size=%" PRIu64, bytes);
    if (inodes)
        (void)snprintf(ret + length, CAPS_LENGTH - (size_t)length, ",nr_inodes=%" PRIu64, inodes);
}

/* Each file system may become as large as the run's scratch, beside the files by reference; the
 * memory limit counts what is in all of them. IpcMode "none" brings no /dev/shm, which semaphores
 * and shared memory of programs need. */
static json_t *scratch(const struct run_description *description)
{
    const struct run_limits *limits = &description->limits;
    uint64_t bytes = limits->scratch_bytes;
    char home[CAPS_LENGTH];
    char caps[CAPS_LENGTH];
    write_caps(bytes ? bytes + run_description_input_bytes(description) : 0, limits->scratch_inodes,
               home);
    write_caps(bytes, limits->scratch_inodes, caps);
    return json_pack("{s:o, s:o, s:o}", RUN_HOME,
                     json_sprintf("rw,nosuid,nodev,exec%s,mode=0700,uid=%d,gid=%d", home,
                                  CONTAINER_USER, CONTAINER_USER),
                     "/tmp", json_sprintf("rw,nosuid,nodev,exec%s,mode=1777", caps), "/dev/shm",
                     json_sprintf("rw,nosuid,nodev,noexec%s,mode=1777", caps));
}

/* The members of HostConfig that vary. */
static json_t *host_config(const struct run_description *description, const char *runtime,
                           const char *seccomp)
{
    const struct run_limits *limits = &description->limits;
    json_int_t memory = (json_int_t)limits->memory_bytes;
    json_int_t processes = limits->processes ? (json_int_t)(limits->processes + OWN_PROCESSES) : 0;
    return json_pack("{s:s, s:[s, s+], s:I, s:I, s:I, s:o, s:o, s:s*}", "NetworkMode",
                     description->network ? "bridge" : "none", "SecurityOpt",
                     "no-new-privileges=true", "seccomp=", seccomp, "Memory", memory, "MemorySwap",
                     memory, "PidsLimit", processes, "Ulimits", resource_limits(description),
                     "Tmpfs", scratch(description), "Runtime", runtime[0] ? runtime : NULL);
}

/* What the guest leaves of it to programs. */
static const char *network_word(const struct run_description *description)
{
    if (description->endpoints)
        return GUEST_WITH_ENDPOINTS;
    return description->network ? GUEST_WITH_NETWORK : GUEST_WITHOUT_NETWORK;
}

static json_t *entrypoint(const struct run_description *description, json_t *interpreter)
{
    json_auto_t *command = json_pack("[s, s]", GUEST_PATH, network_word(description));
    if (!command || (interpreter && json_array_extend(command, interpreter) != 0))
        return NULL;
    return TAKE_POINTER(command);
}

/* labels, interpreter: borrowed; an interpreter of NULL is none. */
static json_t *make_config(const struct run_description *description, const char *runtime,
                           const char *image, const char *const seccomp[2], json_t *labels,
                           json_t *interpreter)
{
    json_auto_t *config =
        json_loadb(container_text, container_length, JSON_REJECT_DUPLICATES, NULL);
    /* For endpoints the guest listens, and its own filters take that away from the program. */
    bool has_sockets = description->network || description->endpoints;
    json_auto_t *host = host_config(description, runtime, seccomp[has_sockets]);
    json_auto_t *varying =
        json_pack("{s:s, s:o, s:s, s:o, s:b, s:O}", "Image", image, "User",
                  json_sprintf("%d:%d", CONTAINER_USER, CONTAINER_USER), "WorkingDir", RUN_HOME,
                  "Entrypoint", entrypoint(description, interpreter), "NetworkDisabled",
                  !description->network, "Labels", labels);
    if (!config || !host || !varying || json_object_update(config, varying) != 0 ||
        json_object_update(json_object_get(config, "HostConfig"), host) != 0)
        return NULL;
    return TAKE_POINTER(config);
}

json_t *container_config_for_run(const struct run_description *description, const char *runtime,
                                 const char *image, const struct owner *owner,
                                 const char *const seccomp[2], int64_t now)
{
    uint64_t wall_ms = description->limits.wall_ms;
    if (description->session.idle_ms > 0) /* 0: of any age */
        wall_ms = description->session.age_ms;
    uint64_t wall_s = wall_ms / 1000 + (wall_ms % 1000 != 0);
    int64_t latest = now + LATEST_MARGIN_S +
                     (int64_t)(wall_s && wall_s < LATEST_LONGEST_S ? wall_s : LATEST_LONGEST_S);
    json_auto_t *labels = owner_labels(owner, description->run_id, latest);
    return make_config(description, runtime, image, seccomp, labels, NULL);
}

json_t *container_config_template(const struct run_description *description, const char *runtime,
                                  const char *image, const char *const seccomp[2])
{
    json_auto_t *labels = json_object();
    json_auto_t *interpreter = waiting_interpreter_arguments(description);
    return make_config(description, runtime, image, seccomp, labels, interpreter);
}

bool container_config_suit_gvisor(json_t *config, const struct run_limits *limits)
{
    json_t *host = json_object_get(config, "HostConfig");
    uint64_t processes = limits->processes;
    if (processes == 0)
        return true;
    uint64_t outside = GVISOR_TASKS + processes * GVISOR_TASKS_EACH;
    return json_object_set_new(host, "PidsLimit", json_integer((json_int_t)outside)) == 0 &&
           add_limit(json_object_get(host, "Ulimits"), "nproc", processes + OWN_PROCESSES,
                     processes + OWN_PROCESSES);
}

enum run_interpreter container_config_interpreter(const json_t *template)
{
    bool waits = json_array_size(json_object_get(template, "Entrypoint")) > OWN_ARGUMENTS;
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
