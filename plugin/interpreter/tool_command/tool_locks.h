/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes that call tools have in common beside their two descriptors. Locks: records of
 * the results pipe (fcntl(2)), which the kernel takes back when a process ends, however that comes
 * about. Marks: flags of the descriptors without an effect of their own, which outlive the process
 * that has set them. Runs in the command that calls tools; all of it belongs to the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TOOL_SLOTS_MOST 1024

/* Where none of them waits for a further one but in this order: a slot, the sender, a number; or
 * the reader alone. Who holds the reader's waits for no other. */
enum tool_lock {
    TOOL_LOCK_SENDER,        /* writes a call */
    TOOL_LOCK_READER,        /* takes what has come */
    TOOL_LOCK_LISTING,       /* takes the tools' frame, ahead of all calls */
    TOOL_LOCK_SLOTS,         /* tool_slots() of them: a call that is open */
    TOOL_LOCK_NUMBERS = 4096 /* plus the number of a call: its answer is awaited */
};

#define TOOL_CELL_SLOTS 16 /* its commands are not told how many the gateway takes */

/* Takes one of the slots of a cell, in its turn; it is a record of that descriptor. Further calls
 * wait here, so that no program has more open answers than the gateway keeps. The end of the
 * process gives it back, if nothing has before. false: there are no locks here. */
bool tool_slot_enter(int fd);
void tool_slot_leave(int fd);

/* false: another process holds it, or there are no locks here. */
bool tool_lock_try(int64_t lock);
/* The same, in its turn. */
bool tool_lock_take(int64_t lock);
void tool_lock_give_back(int64_t lock);
/* Whether another process holds it. */
bool tool_lock_is_held(int64_t lock);

enum tool_mark {
    TOOL_MARK_CALL,   /* a call is written in several pieces */
    TOOL_MARK_ANSWER, /* an answer is read in several pieces */
    TOOL_MARK_COUNT
};

bool tool_mark_is_set(enum tool_mark mark);
void tool_mark_set(enum tool_mark mark, bool is_set);

/* How many calls may be open, as the gateway tells with the tools. 0: nobody has taken that yet. */
uint32_t tool_slots(void);
void tool_slots_set(uint32_t slots);
