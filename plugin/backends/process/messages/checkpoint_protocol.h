/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session's interpreter and its checkpoints say to their init (protocol/checkpoint.h). They
 * make a system call that the kernel has not, and the listener of their filter tells the init of it
 * (interpreter_protocol.h): the kernel says who calls, holds the caller, and hands back the answer.
 * Only the init can wake a checkpoint, and no descriptor is needed that a program could take.
 * Both sides: program/checkpoints.c and sandbox/checkpoint.c.
 */
#pragma once

#include <stdint.h>

#include "backends/process/messages/interpreter_protocol.h"

#define CHECKPOINT_CALL EXIT_REQUEST_CALL

/* (CHECKPOINT_BORN): from a process that is to be a checkpoint, ahead of all else, because the init
 * can have a hold on its oom_score_adj only while it is dumpable. */
#define CHECKPOINT_BORN UINT64_C(0x626f726e)

/* (CHECKPOINT_SLEEP): from a checkpoint. It is held until it is woken. A signal, as of a sandbox
 * that is stopped and goes on, makes the kernel repeat the call. Without namespaces no signal
 * interrupts a call, so it could not be stopped in one: there it is held until it is kept, waits
 * for any signal, and makes the call again. */
#define CHECKPOINT_SLEEP UINT64_C(0x736c6570)
/* The answers; any other one, and any error, ends it. */
#define CHECKPOINT_WOKEN    1
#define CHECKPOINT_SLEEP_ON 2

/* (CHECKPOINT_AWAKE): from the one that was woken, once its files are back. */
#define CHECKPOINT_AWAKE UINT64_C(0x776f6b65)

/* (CHECKPOINT_MADE, its pid, why, how many children the interpreter has with it): from the
 * interpreter, ahead of the cell. The answer is CHECKPOINT_TAKEN or CHECKPOINT_EXPOSED where it is
 * kept, and comes only once it sleeps. Also where there is none, so that the cell's program cannot
 * make one; then why is the word for that.
 */
#define CHECKPOINT_MADE UINT64_C(0x6d616465)
#define CHECKPOINT_NONE 0 /* in the place of the pid */
