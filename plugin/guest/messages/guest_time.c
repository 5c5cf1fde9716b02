/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at the container's processor time: see guest_time.h. Runs in the guest. */
#include "guest/messages/guest_time.h"

#include <time.h>
#include <unistd.h>

#include "base/process_stat.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_protocol.h"

static bool is_owed;

static uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void time_ask(void)
{
    is_owed = true;
}

static void send_measure(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct guest_measure measure = {
        .processors = processors < 1            ? 1
                      : processors > UINT16_MAX ? UINT16_MAX
                                                : (uint32_t)processors,
    };
    uint64_t begin_us = now_us();
    struct tree_time used;
    measure.is_known = tree_time_read(getpid(), &used);
    measure.total_us = measure.is_known ? used.user_us + used.system_us : 0;
    measure.user_us = measure.is_known ? used.user_us : 0;
    measure.cost_us = now_us() - begin_us;
    if (measure.cost_us > UINT32_MAX)
        measure.cost_us = UINT32_MAX;
    unsigned char bytes[sizeof(measure)];
    struct wire_writer writer = {.bytes = bytes, .capacity = sizeof(bytes), .limit = sizeof(bytes)};
    guest_measure_write(&writer, &measure);
    output_put(GUEST_MEASURED, writer.bytes, writer.length);
}

void time_answer(void)
{
    if (!is_owed || !output_has_room())
        return;
    is_owed = false;
    send_measure();
}
