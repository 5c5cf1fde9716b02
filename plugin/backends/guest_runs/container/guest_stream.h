/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the frames of a container's first process as they arrive (guest/messages/guest_protocol.h);
 * one of them is the kernel's report on that process. Bounded; bytes that are no frame are refused.
 * Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/messages/guest_protocol.h"

/* Starts all zero. */
struct guest_reader {
    unsigned char header[GUEST_HEADER_LENGTH];
    size_t header_length;
    enum guest_kind kind; /* of the frame under way */
    uint32_t left;        /* of its payload */
    unsigned char payload[GUEST_CONTROL_LIMIT];
    size_t payload_length;
    bool is_broken; /* a frame had no valid header: where the next one begins is not known */
};

/* A whole frame, or the next bytes of a stream's. kind 0: nothing so far. */
struct guest_piece {
    enum guest_kind kind;
    const unsigned char *bytes; /* inside the input or the reader */
    size_t length;
};

/* Takes input up to one piece. The number of bytes taken (all of them where there is no piece), or
 * -1 where a frame has no valid header, and ever after. */
ptrdiff_t guest_reader_next(struct guest_reader *reader, const unsigned char *bytes, size_t length,
                            struct guest_piece *ret);

/* The facts that must hold for that process, by the kernel's report on it (/proc/self/status). */
enum guest_fact {
    GUEST_FACT_CAP_INHERITABLE, /* this and the other sets of capabilities are empty */
    GUEST_FACT_CAP_PERMITTED,
    GUEST_FACT_CAP_EFFECTIVE,
    GUEST_FACT_CAP_BOUNDING,
    GUEST_FACT_CAP_AMBIENT,
    GUEST_FACT_NO_NEW_PRIVILEGES,
    GUEST_FACT_SECCOMP, /* a filter is in force */
    GUEST_FACT_ORDINARY_USER,
    GUEST_FACT_GVISOR, /* need not hold: it is gVisor's kernel that says so */
    GUEST_FACT_COUNT
};

#define GUEST_FACT_BIT(fact) (UINT32_C(1) << (fact))
#define GUEST_FACTS_ALL      (GUEST_FACT_BIT(GUEST_FACT_GVISOR) - 1)

/* The bits of the facts that hold by that report. */
uint32_t guest_facts_read(const unsigned char *report, size_t length);
/* May that process have a program? gVisor's kernel takes no filter from an engine: there the
 * program has the guest's own alone, which the guest puts on it and looks at. */
bool guest_facts_suffice(uint32_t found);
/* Whether that guest's program is the one with that digest, in lower-case hexadecimal digits; false
 * where it tells none. */
bool guest_facts_are_of(const unsigned char *report, size_t length, const char *digest);
/* The ABI of Landlock that every program of that guest gets, by the guest's own line; 0: none. */
uint32_t guest_facts_landlock(const unsigned char *report, size_t length);
