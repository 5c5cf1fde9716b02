/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend says of a run, without the version before it, so that seeds outlive one. What is
 * taken is in range and is written again as the same bytes; cut anywhere, or with a byte more, it
 * is refused. An event that is filled with the bytes survives the way exactly when it is in range.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "fuzz.h"
#include "protocol/run_event.h"

#define VERSION_LENGTH 4

static bool is_taken(const unsigned char *message, size_t length)
{
    struct run_event event;
    unsigned char *exact = fuzz_exact(message, length);
    bool taken = run_event_decode(exact, length, &event);
    free(exact);
    return taken;
}

static void must_be_whole(const unsigned char *message, size_t length)
{
    unsigned char longer[RUN_EVENT_MESSAGE_LIMIT + 1] = {0};
    MUST(length <= RUN_EVENT_MESSAGE_LIMIT);
    for (size_t cut = 0; cut < length; cut++)
        MUST(!is_taken(message, cut));
    memcpy(longer, message, length);
    MUST(!is_taken(longer, length + 1));
    longer[0]++;
    MUST(!is_taken(longer, length));
}

static bool figure_is_good(uint64_t figure)
{
    return figure <= INT64_MAX || figure == RUN_USAGE_UNKNOWN;
}

/* As the plugin uses it: tables by number, JSON integers, an exit code of a byte. */
static bool is_good(const struct run_event *event)
{
    bool ended = event->type == RUN_EVENT_ENDED || event->type == RUN_EVENT_RESTORED;
    bool signal_is_good = event->signal >= 0 && event->signal <= 64;
    bool end_is_good = event->exit_code >= -1 && event->exit_code <= 255 &&
                       (event->cause != RUN_CAUSE_EXIT || event->exit_code >= 0);
    return signal_is_good && (end_is_good || !ended) && event->type >= RUN_EVENT_STARTED &&
           event->type < RUN_EVENT_TYPE_COUNT && event->origin < SANDBOX_ORIGIN_COUNT &&
           event->cause < RUN_CAUSE_COUNT && event->failure < RUN_FAILURE_COUNT &&
           event->failed_layer < LAYER_COUNT && event->problem_code < ERROR_CODE_COUNT &&
           event->preparation < PREPARATION_COUNT && event->first_pid >= 0 &&
           event->retry_after_ms <= RUN_RETRY_AFTER_LIMIT &&
           (event->isolation.applied | event->isolation.missing) <= LAYERS_ALL &&
           event->usage.wall_us <= INT64_MAX && figure_is_good(event->usage.user_us) &&
           figure_is_good(event->usage.system_us) &&
           figure_is_good(event->usage.peak_memory_bytes) && figure_is_good(event->usage.processes);
}

static void check(const struct run_event *event)
{
    MUST(is_good(event));
    MUST(memchr(event->message, '\0', sizeof(event->message)) != NULL);
    MUST(memchr(event->remedy, '\0', sizeof(event->remedy)) != NULL);
    MUST(event->details.length <= RUN_DETAILS_LIMIT);
    MUST(memchr(event->image_id, '\0', sizeof(event->image_id)) != NULL);
    MUST(run_cause_name((enum run_cause)event->cause) != NULL);
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct run_event event;
    unsigned char again[RUN_EVENT_MESSAGE_LIMIT];
    size_t length = VERSION_LENGTH + size;
    CLEANUP_FREE unsigned char *message = calloc(1, length);
    MUST(message != NULL);
    message[0] = PROTOCOL_VERSION;
    if (size)
        memcpy(message + VERSION_LENGTH, data, size);
    if (!run_event_decode(message, length, &event))
        return;
    check(&event);
    MUST(run_event_encode(&event, again) == length && memcmp(again, message, length) == 0);
    must_be_whole(message, length);
}

/* Up to the first NUL, as a text is. */
static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0';
    size_t length = strlen(text);
    memset(text + length, 0, size - length);
}

/* The bytes laid over the struct, so that any member has any value. */
static void try_made(const uint8_t *data, size_t size)
{
    struct run_event made;
    struct run_event decoded;
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    memset(&made, 0, sizeof(made));
    memcpy(&made, data, size < sizeof(made) ? size : sizeof(made));
    made.details.length %= RUN_DETAILS_LIMIT + 1;
    end_text(made.image_id, sizeof(made.image_id));
    end_text(made.groups, sizeof(made.groups));
    end_text(made.message, sizeof(made.message));
    size_t length = run_event_encode(&made, message);
    MUST(length > 0);
    bool taken = run_event_decode(message, length, &decoded);
    MUST(taken == is_good(&made));
    if (!taken)
        return;
    check(&decoded);
    MUST(decoded.type == made.type && decoded.exit_code == made.exit_code);
    MUST(decoded.origin == made.origin && decoded.retry_after_ms == made.retry_after_ms);
    MUST(decoded.details.length == made.details.length &&
         memcmp(decoded.details.bytes, made.details.bytes, made.details.length) == 0);
    MUST(strcmp(decoded.message, made.message) == 0 && strcmp(decoded.groups, made.groups) == 0);
    MUST(memcmp(&decoded.usage, &made.usage, sizeof(made.usage)) == 0);
    must_be_whole(message, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    try_made(data, size);
    return 0;
}
