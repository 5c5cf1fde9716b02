/* SPDX-License-Identifier: Apache-2.0 */
/* Real certificates and keys in a directory of the test's own, for both ends of a connection. */
#pragma once

#include <stdbool.h>

#include "backends/remote/link/tls_context.h"

enum certificate_use { USE_NOTHING, USE_SERVER, USE_CLIENT };

struct certificate_wish {
    const char *dns_name; /* NULL: none */
    enum certificate_use use;
    long begins_s, ends_s; /* from now */
};

/* A new empty directory, which certificates_remove() removes. */
void certificates_begin(void);
void certificates_remove(void);
/* Makes AUTHORITY.pem, and keeps its key for certificate_make(). */
void authority_make(const char *authority);
/* Makes NAME.pem and NAME.key. */
void certificate_make(const char *authority, const char *name, const struct certificate_wish *wish);
/* The path of a file there, in a buffer that lives until the fourth call from now. */
const char *certificate_path(const char *name, const char *ending);

/* Of files with those names; NULL with the error. */
struct tls_context *context_of(bool is_server, const char *authority, const char *name,
                               struct error *error);
/* "authority", "worker" (worker.test) and "gateway" (gateway.test). */
void certificates_make_usual(void);
