/* SPDX-License-Identifier: Apache-2.0 */
/* The message with a run to the first process of a container (guest/guest_protocol.h). Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/run_description.h"

/* Whether the guest is to send the files that the run leaves. */
bool run_message_collects(const struct run_description *description);

/* Whether the command is Python's: an image may have another one for the language. */
bool run_message_is_for_python(const char *command);

/* A new buffer with the message; *ret_length bytes (wipe and free: it holds the secrets). NULL when
 * out of memory, where a variable's name is not valid or a file is given by reference. input: the
 * program's standard input, NULL or empty: /dev/null. */
unsigned char *run_message_make(const struct run_description *description,
                                const unsigned char *input, size_t input_length,
                                size_t *ret_length);
