/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend says of what it has ready, without the version before it, so that seeds outlive
 * one. What is taken is in range and is written again as the same bytes; cut anywhere, or with a
 * byte more, it is refused.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "protocol/pool_report.h"
#include "protocol/run_event.h"

#define VERSION_LENGTH 4

static bool is_taken(const unsigned char *message, size_t length)
{
    struct pool_report report;
    unsigned char *exact = fuzz_exact(message, length);
    bool taken = pool_report_decode(exact, length, &report);
    free(exact);
    return taken;
}

static void must_be_whole(const unsigned char message[POOL_REPORT_LENGTH])
{
    unsigned char longer[POOL_REPORT_LENGTH + 1] = {0};
    for (size_t cut = 0; cut < POOL_REPORT_LENGTH; cut++)
        MUST(!is_taken(message, cut));
    memcpy(longer, message, POOL_REPORT_LENGTH);
    MUST(!is_taken(longer, sizeof(longer)));
    longer[0]++;
    MUST(!is_taken(longer, POOL_REPORT_LENGTH));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pool_report report;
    unsigned char again[POOL_REPORT_LENGTH];
    size_t length = VERSION_LENGTH + size;
    CLEANUP_FREE unsigned char *message = calloc(1, length);
    MUST(message != NULL);
    message[0] = PROTOCOL_VERSION;
    if (size)
        memcpy(message + VERSION_LENGTH, data, size);
    if (!pool_report_decode(message, length, &report))
        return 0;
    MUST(length == POOL_REPORT_LENGTH);
    for (size_t i = 0; i < RUN_INTERPRETER_COUNT; i++)
        MUST(report.rows[i].ready <= RUN_POOL_LIMIT &&
             (report.rows[i].memory_bytes <= INT64_MAX ||
              report.rows[i].memory_bytes == RUN_USAGE_UNKNOWN));
    pool_report_encode(&report, again);
    MUST(memcmp(again, message, length) == 0);
    must_be_whole(message);
    return 0;
}
