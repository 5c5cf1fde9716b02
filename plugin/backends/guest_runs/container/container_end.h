/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program in a container ended: as its first process, the guest, reports it, else by the
 * engine's report on the guest itself. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guest/messages/guest_protocol.h"
#include "protocol/run_event.h"

struct container_end {
    bool reported; /* by the guest: the program's end, when every process of it was dead */
    struct guest_end program;
    int64_t status; /* of the guest, the engine's: an exit code, or 128 + signal */
    bool memory_killed;
};

/* The program ended well, so nothing is left to be asked about it. */
bool container_end_is_good(const struct container_end *end);
/* false: the guest ended without a report and was not killed, which is a fault of ours or of the
 * container. */
bool container_end_is_explained(const struct container_end *end);
/* Fills cause, exit_code, signal and the usage that is known. */
void container_cause_decide(const struct container_end *end, struct run_event *event);
