/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of a run's events. Runs in the plugin (decode) and in every backend
 * (encode), on any thread.
 */
#include "run_event.h"

#include <string.h>

#include "../base/error.h"
#include "base/cleanup.h"
#include "wire_fields.h"

#define SIGNAL_MAX 64 /* the last real-time signal of Linux */

static const char *const cause_names[RUN_CAUSE_COUNT] = {
#define X(constant, name) name,
    RUN_CAUSES(X)
#undef X
};

const char *run_cause_name(enum run_cause cause)
{
    return cause_names[cause];
}

bool run_cause_is_order(enum run_cause cause)
{
    return cause == RUN_CAUSE_WALL_TIMEOUT || cause == RUN_CAUSE_CANCELLED ||
           cause == RUN_CAUSE_OUTPUT_LIMIT;
}

#define NUMBER(member, most) WIRE_NUMBER(struct run_event, member, most)
#define TEXT(member)         WIRE_TEXT(struct run_event, member)

static const struct wire_field fields[] = {
    NUMBER(type, RUN_EVENT_TYPE_COUNT - 1),
    NUMBER(isolation.applied, LAYERS_ALL),
    NUMBER(isolation.missing, LAYERS_ALL),
    NUMBER(isolation.landlock_abi, UINT32_MAX),
    NUMBER(isolation.cgroup_version, UINT32_MAX),
    NUMBER(isolation.cgroup_has_memory, UINT32_MAX),
    NUMBER(isolation.cgroup_has_pids, UINT32_MAX),
    NUMBER(isolation.outer_uid, UINT32_MAX),
    NUMBER(isolation.seccomp_instructions, UINT32_MAX),
    WIRE_COUNTED(struct run_event, details),
    TEXT(image_id),
    NUMBER(origin, SANDBOX_ORIGIN_COUNT - 1),
    NUMBER(first_pid, INT32_MAX),
    NUMBER(cause, RUN_CAUSE_COUNT - 1),
    NUMBER(exit_code, UINT32_MAX),
    NUMBER(signal, SIGNAL_MAX),
    NUMBER(failure, RUN_FAILURE_COUNT - 1),
    NUMBER(failed_layer, LAYER_COUNT - 1),
    NUMBER(problem_code, ERROR_CODE_COUNT - 1),
    NUMBER(retry_after_ms, RUN_RETRY_AFTER_LIMIT),
    NUMBER(error_number, UINT32_MAX),
    NUMBER(swept, UINT32_MAX),
    NUMBER(unswept, UINT32_MAX),
    NUMBER(preparation, PREPARATION_COUNT - 1),
    TEXT(groups),
    TEXT(message),
    TEXT(remedy),
    NUMBER(usage.wall_us, INT64_MAX),
    NUMBER(usage.user_us, UINT64_MAX),
    NUMBER(usage.system_us, UINT64_MAX),
    NUMBER(usage.peak_memory_bytes, UINT64_MAX),
    NUMBER(usage.processes, UINT64_MAX),
    NUMBER(usage.memory_kills, UINT64_MAX),
    NUMBER(usage.process_refusals, UINT64_MAX),
};

size_t run_event_encode(const struct run_event *event,
                        unsigned char message[RUN_EVENT_MESSAGE_LIMIT])
{
    /* All the room there may be is there: an event must not be lost for want of memory. */
    struct wire_writer writer = {
        .bytes = message,
        .capacity = RUN_EVENT_MESSAGE_LIMIT,
        .limit = RUN_EVENT_MESSAGE_LIMIT,
    };
    wire_put_u32(&writer, PROTOCOL_VERSION);
    wire_put_fields(&writer, fields, COUNT_OF(fields), event);
    return writer.failed ? 0 : writer.length;
}

static bool tells_an_end(const struct run_event *event)
{
    return event->type == RUN_EVENT_ENDED || event->type == RUN_EVENT_RESTORED;
}

/* A program that exited has a code; one that did not has none. */
static bool end_in_range(const struct run_event *event)
{
    return event->exit_code >= -1 && event->exit_code <= 255 &&
           (event->exit_code >= 0 || event->cause != RUN_CAUSE_EXIT);
}

static bool figure_in_range(uint64_t figure)
{
    return figure <= INT64_MAX || figure == RUN_USAGE_UNKNOWN;
}

static bool usage_in_range(const struct run_usage *usage)
{
    return figure_in_range(usage->user_us) && figure_in_range(usage->system_us) &&
           figure_in_range(usage->peak_memory_bytes) && figure_in_range(usage->processes);
}

/* The checks that concern more than one member. */
static bool in_range(const struct run_event *event)
{
    return event->type >= RUN_EVENT_STARTED && (!tells_an_end(event) || end_in_range(event)) &&
           usage_in_range(&event->usage);
}

bool run_event_decode(const unsigned char *message, size_t length, struct run_event *ret)
{
    struct wire_reader reader = {.bytes = message, .length = length};
    if (wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    struct run_event event = {.type = 0};
    wire_get_fields(&reader, fields, COUNT_OF(fields), &event);
    if (reader.failed || reader.offset != length || !in_range(&event))
        return false;
    *ret = event;
    return true;
}
