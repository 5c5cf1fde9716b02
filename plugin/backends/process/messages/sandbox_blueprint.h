/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the init of a sandbox has to know, as a message from the supervisor to another program
 * that makes sandboxes of that shape: an interpreter that is copied. Pure but for the reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/sandbox_shape.h"
#include "backends/process/messages/seccomp_program.h"

struct sandbox_blueprint {
    struct sandbox_shape shape;
    struct seccomp_filters filters;
    struct namespaces outside; /* of the supervisor */
};

/* A new message, the caller's to free; NULL: no memory. What the shape says of the interpreter is
 * left out but its kind: it is the reader. */
unsigned char *sandbox_blueprint_encode(const struct sandbox_blueprint *blueprint,
                                        size_t *ret_length);

/* From the file, a memfd. true: *ret owns copies that live as long as the process. */
bool sandbox_blueprint_read(int fd, struct sandbox_blueprint *ret);
