/* SPDX-License-Identifier: Apache-2.0 */
/* The message with a run to the first process of a container (guest/messages/guest_protocol.h).
 * Pure code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "protocol/run_description.h"

/* The place of a file by reference: before the byte at that offset. */
struct run_message_gap {
    size_t offset;
    const struct run_file *file; /* the description's */
    uint32_t number;             /* of the file */
};

/* The message without the files by reference, whose content message_sender.h puts in between. */
struct run_message {
    unsigned char *bytes; /* with the secrets of the run; NULL: there is none */
    size_t length;
    struct run_message_gap *gaps; /* in the order of their offsets */
    size_t gap_count;
};

/* Whether the guest is to send the files that the run leaves. */
bool run_message_collects(const struct run_description *description);

/* Whether its interpreter stays for cells. */
bool run_message_is_session(const struct run_description *description);

/* Whether the command is that interpreter's: an image may have another one for the language. A
 * shell has any name. */
bool run_message_is_for(enum run_interpreter interpreter, const char *command);

/* Whether something of ours begins its program. */
bool run_message_has_runner(const struct run_description *description);

/* *ret owns the message (run_message_clear()), and refers to the description's files. false when
 * out of memory, or where a variable's name is not valid. input: the program's standard input, NULL
 * or empty: /dev/null. */
bool run_message_make(const struct run_description *description, const unsigned char *input,
                      size_t input_length, struct run_message *ret);

/* The same of a further interpreter of a session, behind the order to start it. */
bool run_message_make_program(const struct run_description *description, struct run_message *ret);
/* The same of a cell for the session's program of that number. false also where its code is not its
 * first file. */
bool run_message_make_cell(const struct run_description *description, size_t program,
                           const unsigned char *input, size_t input_length,
                           struct run_message *ret);
/* The same of the order to collect what a cell has left. */
bool run_message_make_collection(const struct run_description *description, bool haste,
                                 struct run_message *ret);

/* The file of that gap is not as described, which the end of a cell's message says of the first
 * one. */
void run_message_refuse(struct run_message *message, size_t gap);

/* Wipes and releases it; it is empty then. */
void run_message_clear(struct run_message *message);

/* waiting_interpreter.c: the guest's arguments for the interpreter that it starts ahead of a run
 * (guest/guest_interpreter.h), made of the policy's alone: they are part of a container's
 * configuration. New; NULL: it starts none for such runs. */
json_t *waiting_interpreter_arguments(const struct run_description *description);
