/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the init of a sandbox has to know, as a message from the supervisor to another program
 * that makes sandboxes of that template: an interpreter that is copied. Pure but for the reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/sandbox_template.h"
#include "backends/process/messages/seccomp_program.h"

struct template_message {
    struct sandbox_template template;
    struct seccomp_filters filters;
    struct namespaces outside; /* of the supervisor */
    char *files;               /* interpreter_files_directory() there */
};

/* A new message, the caller's to free; NULL: no memory. What the template says of the interpreter
 * is left out but its kind: it is the reader. */
unsigned char *template_message_encode(const struct template_message *contents, size_t *ret_length);

/* From the file, a memfd. true: *ret owns copies that live as long as the process. */
bool template_message_read(int fd, struct template_message *ret);
