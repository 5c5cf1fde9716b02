/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the folder shares about TLS: the context, the checks of a certificate, and words for what
 * has failed. Runs in code-execute-remote and code-execute-worker.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tls_context {
    SSL_CTX *ssl;
    bool is_server;
    int64_t expires_s;
};

#define TLS_DATE_BYTES 32

/* "2026-11-28 16:50:00 UTC" */
void tls_date(const ASN1_TIME *time, char ret[TLS_DATE_BYTES]);

/* Whether its extended key usage names servers, or clients. One that names nothing is for neither.
 */
bool tls_is_for(X509 *certificate, bool server);

/* The problem with the other side's certificate that the handshake found. */
struct tls_refusal {
    char message[256]; /* "": nothing */
    char hint[256];
};

/* A verification callback of OpenSSL. It refuses what OpenSSL does, and notes it in the refusal
 * that tls_set_refusal() gave the connection. */
int tls_verify(int is_fine, X509_STORE_CTX *store);
bool tls_set_refusal(SSL *ssl, struct tls_refusal *refusal);

/* Whether the certificate of the other side has one of the names as a DNS name, compared without
 * case, with no wildcards: its index; else -1, and the names that it has as text. */
ptrdiff_t tls_match_name(SSL *ssl, const char *const *names, size_t count, char *ret_names,
                         size_t capacity);

/* Words for the error that SSL_get_error() has returned for a handshake, a read or a write, whose
 * errno is error_number. Clears OpenSSL's queue. */
void tls_explain(int ssl_error, int error_number, const struct tls_refusal *refusal, bool is_server,
                 struct error *error);
