/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one side of a connection between gateway and worker needs for TLS: its own certificate and
 * key, and the authority that the other side's certificate must be of. TLS 1.3 alone, both sides
 * have a certificate, no session is resumed. Runs in code-execute-remote and code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct tls_context;

/* Paths of PEM files; the certificate's file may have intermediate ones behind it. */
struct tls_files {
    const char *authority, *certificate, *key;
};

/* Reads the files, and keeps nothing of them open. NULL with ERROR_BACKEND_UNAVAILABLE, a message
 * that names the file, and a hint: one is missing, no PEM, the key does not belong to the
 * certificate, it can be read by others (a group may read what is root's, where the process is
 * not), or the certificate has expired or is not for that use. */
struct tls_context *tls_context_new(bool is_server, const struct tls_files *files,
                                    struct error *error);
/* Links that have it go on. NULL is fine. */
void tls_context_free(struct tls_context *context);

/* Seconds of the epoch: until when the own certificate is valid. */
int64_t tls_context_expires_s(const struct tls_context *context);
