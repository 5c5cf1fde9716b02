/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of a run's events. Runs in the plugin (decode) and in every backend
 * (encode), on any thread.
 */
#include "run_event.h"

#include <string.h>

#include "../base/cleanup.h"
#include "wire.h"

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

static void put_isolation(struct wire_writer *writer, const struct isolation_report *isolation)
{
    wire_put_u64(writer, isolation->applied);
    wire_put_u64(writer, isolation->missing);
    wire_put_u32(writer, isolation->landlock_abi);
    wire_put_u32(writer, isolation->cgroup_version);
    wire_put_u32(writer, isolation->cgroup_has_memory);
    wire_put_u32(writer, isolation->cgroup_has_pids);
    wire_put_u32(writer, isolation->outer_uid);
    wire_put_u32(writer, isolation->seccomp_instructions);
}

static void get_isolation(struct wire_reader *reader, struct isolation_report *isolation)
{
    isolation->applied = wire_get_u64(reader);
    isolation->missing = wire_get_u64(reader);
    isolation->landlock_abi = wire_get_u32(reader);
    isolation->cgroup_version = wire_get_u32(reader);
    isolation->cgroup_has_memory = wire_get_u32(reader);
    isolation->cgroup_has_pids = wire_get_u32(reader);
    isolation->outer_uid = wire_get_u32(reader);
    isolation->seccomp_instructions = wire_get_u32(reader);
}

static void put_text(struct wire_writer *writer, const char *text, size_t size)
{
    wire_put_bytes(writer, text, strnlen(text, size - 1));
}

static void get_text(struct wire_reader *reader, char *text, size_t size)
{
    CLEANUP_FREE char *value = wire_get_string(reader, size - 1);
    if (value)
        memcpy(text, value, strlen(value) + 1);
}

static void put_engine(struct wire_writer *writer, const struct engine_report *engine)
{
    put_text(writer, engine->name, sizeof(engine->name));
    put_text(writer, engine->version, sizeof(engine->version));
    put_text(writer, engine->api, sizeof(engine->api));
    put_text(writer, engine->runtime, sizeof(engine->runtime));
    put_text(writer, engine->runtime_version, sizeof(engine->runtime_version));
    put_text(writer, engine->image_id, sizeof(engine->image_id));
    wire_put_u32(writer, engine->rootless);
    wire_put_u32(writer, engine->user_namespace);
}

static void get_engine(struct wire_reader *reader, struct engine_report *engine)
{
    get_text(reader, engine->name, sizeof(engine->name));
    get_text(reader, engine->version, sizeof(engine->version));
    get_text(reader, engine->api, sizeof(engine->api));
    get_text(reader, engine->runtime, sizeof(engine->runtime));
    get_text(reader, engine->runtime_version, sizeof(engine->runtime_version));
    get_text(reader, engine->image_id, sizeof(engine->image_id));
    engine->rootless = wire_get_u32(reader);
    engine->user_namespace = wire_get_u32(reader);
}

static void put_usage(struct wire_writer *writer, const struct run_usage *usage)
{
    wire_put_u64(writer, usage->wall_us);
    wire_put_u64(writer, usage->user_us);
    wire_put_u64(writer, usage->system_us);
    wire_put_u64(writer, usage->peak_memory_bytes);
    wire_put_u64(writer, usage->processes);
    wire_put_u64(writer, usage->memory_kills);
    wire_put_u64(writer, usage->process_refusals);
}

static void get_usage(struct wire_reader *reader, struct run_usage *usage)
{
    usage->wall_us = wire_get_u64(reader);
    usage->user_us = wire_get_u64(reader);
    usage->system_us = wire_get_u64(reader);
    usage->peak_memory_bytes = wire_get_u64(reader);
    usage->processes = wire_get_u64(reader);
    usage->memory_kills = wire_get_u64(reader);
    usage->process_refusals = wire_get_u64(reader);
}

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
    wire_put_u32(&writer, event->type);
    put_isolation(&writer, &event->isolation);
    put_engine(&writer, &event->engine);
    wire_put_u32(&writer, event->origin);
    wire_put_u32(&writer, event->cause);
    wire_put_u32(&writer, (uint32_t)event->exit_code);
    wire_put_u32(&writer, (uint32_t)event->signal);
    wire_put_u32(&writer, event->failure);
    wire_put_u32(&writer, event->failed_layer);
    wire_put_u32(&writer, event->engine_problem);
    wire_put_u32(&writer, (uint32_t)event->error_number);
    wire_put_u32(&writer, event->swept);
    wire_put_u32(&writer, event->unswept);
    wire_put_u32(&writer, event->preparation);
    put_text(&writer, event->groups, sizeof(event->groups));
    put_text(&writer, event->message, sizeof(event->message));
    put_usage(&writer, &event->usage);
    return writer.failed ? 0 : writer.length;
}

/* A program that exited has a code; one that did not has none. */
static bool end_in_range(const struct run_event *event)
{
    return event->exit_code >= -1 && event->exit_code <= 255 && event->signal >= 0 &&
           event->signal <= SIGNAL_MAX && (event->exit_code >= 0 || event->cause != RUN_CAUSE_EXIT);
}

static bool figure_in_range(uint64_t figure)
{
    return figure <= INT64_MAX || figure == RUN_USAGE_UNKNOWN;
}

static bool usage_in_range(const struct run_usage *usage)
{
    return usage->wall_us <= INT64_MAX && figure_in_range(usage->user_us) &&
           figure_in_range(usage->system_us) && figure_in_range(usage->peak_memory_bytes) &&
           figure_in_range(usage->processes);
}

static bool in_range(const struct run_event *event)
{
    if (event->type == RUN_EVENT_ENDED && !end_in_range(event))
        return false;
    return usage_in_range(&event->usage) && event->type >= RUN_EVENT_STARTED &&
           event->type < RUN_EVENT_TYPE_COUNT && event->cause < RUN_CAUSE_COUNT &&
           event->failure < RUN_FAILURE_COUNT && event->failed_layer < LAYER_COUNT &&
           event->engine_problem < ENGINE_PROBLEM_COUNT && event->origin < SANDBOX_ORIGIN_COUNT &&
           event->preparation < PREPARATION_COUNT && !(event->isolation.applied & ~LAYERS_ALL) &&
           !(event->isolation.missing & ~LAYERS_ALL);
}

bool run_event_decode(const unsigned char *message, size_t length, struct run_event *ret)
{
    struct wire_reader reader = {.bytes = message, .length = length};
    if (wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    struct run_event event = {.type = wire_get_u32(&reader)};
    get_isolation(&reader, &event.isolation);
    get_engine(&reader, &event.engine);
    event.origin = wire_get_u32(&reader);
    event.cause = wire_get_u32(&reader);
    event.exit_code = (int32_t)wire_get_u32(&reader);
    event.signal = (int32_t)wire_get_u32(&reader);
    event.failure = wire_get_u32(&reader);
    event.failed_layer = wire_get_u32(&reader);
    event.engine_problem = wire_get_u32(&reader);
    event.error_number = (int32_t)wire_get_u32(&reader);
    event.swept = wire_get_u32(&reader);
    event.unswept = wire_get_u32(&reader);
    event.preparation = wire_get_u32(&reader);
    get_text(&reader, event.groups, sizeof(event.groups));
    get_text(&reader, event.message, sizeof(event.message));
    get_usage(&reader, &event.usage);
    if (reader.failed || reader.offset != length || !in_range(&event))
        return false;
    *ret = event;
    return true;
}
