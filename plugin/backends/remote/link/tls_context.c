/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of certificates and keys, and the rules of every handshake: see tls_context.h.
 * Runs in code-execute-remote and code-execute-worker. */
#include "backends/remote/link/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/remote/link/tls_private.h"
#include "base/cleanup.h"
#include "base/trusted_file.h"

#define FILE_LIMIT (1u << 20)

struct file_text {
    unsigned char *bytes; /* wiped: a key is one */
    size_t length;
};

static void clear_text(struct file_text *text)
{
    if (text->bytes)
        explicit_bzero(text->bytes, FILE_LIMIT);
    free(text->bytes);
}

static void free_bio(BIO **bio)
{
    (void)BIO_free(*bio);
}

static void free_certificate(X509 **certificate)
{
    X509_free(*certificate);
}

static int refuse(struct error *error, const char *kind, const char *path, const char *what,
                  const char *hint)
{
    (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "the %s %s %s", kind, path, what);
    error_set_hint(error, "%s", hint);
    return -1;
}

/* A pod's volume belongs to root; an ordinary user may read it only through its group. */
static bool is_private(const struct stat *facts)
{
    bool by_group = facts->st_uid == 0 && geteuid() != 0;
    return (facts->st_mode & (by_group ? 037 : 077)) == 0;
}

static int check_mode(int fd, const char *kind, const char *path, struct error *error)
{
    struct stat facts;
    if (fstat(fd, &facts) == 0 && is_private(&facts))
        return 0;
    (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "the %s %s can be read or changed by others",
                    kind, path);
    error_set_hint(error, "chmod 600 %s, and make a new key where others may have read it", path);
    return -1;
}

static int read_file(const char *kind, const char *path, bool is_key, struct file_text *ret,
                     struct error *error)
{
    CLEANUP_CLOSE int fd = trusted_file_open(kind, path, ERROR_BACKEND_UNAVAILABLE, error);
    if (fd < 0 || (is_key && check_mode(fd, kind, path, error) != 0))
        return -1;
    ret->bytes = malloc(FILE_LIMIT);
    if (!ret->bytes)
        return error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the %s", kind);
    ssize_t length = trusted_file_read(fd, ret->bytes, FILE_LIMIT);
    if (length < 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno, "cannot read the %s %s",
                               kind, path);
    if (length == FILE_LIMIT)
        return refuse(error, kind, path, "is too long", "name a PEM file of at most 1 MiB");
    ret->length = (size_t)length;
    return 0;
}

static BIO *bio_of(const struct file_text *text)
{
    return BIO_new_mem_buf(text->bytes, (int)text->length);
}

/* There is no terminal for a pass phrase. */
static int no_phrase(char *phrase, int capacity, int is_writing, void *user)
{
    (void)phrase, (void)capacity, (void)is_writing, (void)user;
    return -1;
}

static int load_authority(SSL_CTX *ssl, const char *path, struct error *error)
{
    static const char kind[] = "file of the authority's certificate";
    CLEANUP(clear_text) struct file_text text = {.bytes = NULL};
    if (read_file(kind, path, false, &text, error) != 0)
        return -1;
    CLEANUP(free_bio) BIO *bio = bio_of(&text);
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    size_t count = 0;
    for (;; count++) {
        CLEANUP(free_certificate)
        X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, no_phrase, NULL) : NULL;
        if (!certificate || X509_STORE_add_cert(store, certificate) != 1 ||
            SSL_CTX_add_client_CA(ssl, certificate) != 1)
            break;
    }
    ERR_clear_error();
    return count > 0 ? 0
                     : refuse(error, kind, path, "has no certificate",
                              "name the PEM file of the authority that signs the certificates of "
                              "gateways and workers");
}

static int load_chain(SSL_CTX *ssl, const char *path, struct error *error)
{
    static const char kind[] = "certificate";
    static const char hint[] = "name a PEM file with the certificate first";
    CLEANUP(clear_text) struct file_text text = {.bytes = NULL};
    if (read_file(kind, path, false, &text, error) != 0)
        return -1;
    CLEANUP(free_bio) BIO *bio = bio_of(&text);
    CLEANUP(free_certificate)
    X509 *own = bio ? PEM_read_bio_X509(bio, NULL, no_phrase, NULL) : NULL;
    if (!own || SSL_CTX_use_certificate(ssl, own) != 1) {
        ERR_clear_error();
        return refuse(error, kind, path, "is none in PEM", hint);
    }
    for (;;) {
        X509 *further = PEM_read_bio_X509(bio, NULL, no_phrase, NULL);
        if (!further)
            break;
        if (SSL_CTX_add0_chain_cert(ssl, further) != 1) {
            X509_free(further);
            ERR_clear_error();
            return refuse(error, kind, path, "has a chain that cannot be used", hint);
        }
    }
    ERR_clear_error();
    return 0;
}

static int load_key(SSL_CTX *ssl, const char *path, struct error *error)
{
    static const char kind[] = "key";
    CLEANUP(clear_text) struct file_text text = {.bytes = NULL};
    if (read_file(kind, path, true, &text, error) != 0)
        return -1;
    CLEANUP(free_bio) BIO *bio = bio_of(&text);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_phrase, NULL) : NULL;
    int result = 0;
    if (!key)
        result = refuse(error, kind, path, "is none in PEM", "name a key without a pass phrase");
    else if (SSL_CTX_use_PrivateKey(ssl, key) != 1 || SSL_CTX_check_private_key(ssl) != 1)
        result = refuse(error, kind, path, "does not belong to the certificate",
                        "name the key that the certificate was made for");
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}

/* Checked here because the other side would refuse it with a poorer message. */
static int check_own(struct tls_context *context, const char *path, struct error *error)
{
    X509 *own = SSL_CTX_get0_certificate(context->ssl);
    char date[TLS_DATE_BYTES];
    struct tm end = {0};
    if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
        tls_date(X509_get0_notBefore(own), date);
        return error_set(error, ERROR_BACKEND_UNAVAILABLE,
                         "the certificate %s is not valid before %s", path, date);
    }
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
        tls_date(X509_get0_notAfter(own), date);
        (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "the certificate %s has expired on %s",
                        path, date);
        error_set_hint(error, "renew it");
        return -1;
    }
    if (!tls_is_for(own, context->is_server))
        return refuse(error, "certificate", path,
                      context->is_server ? "does not say that it is a server's"
                                         : "does not say that it is a client's",
                      context->is_server ? "make one with extendedKeyUsage = serverAuth"
                                         : "make one with extendedKeyUsage = clientAuth");
    if (ASN1_TIME_to_tm(X509_get0_notAfter(own), &end) == 1)
        context->expires_s = timegm(&end);
    return 0;
}

static bool set_rules(SSL_CTX *ssl)
{
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, tls_verify);
    SSL_CTX_set_verify_depth(ssl, 4);
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT);
    (void)SSL_CTX_set_mode(ssl,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_num_tickets(ssl, 0) == 1;
}

struct tls_context *tls_context_new(bool is_server, const struct tls_files *files,
                                    struct error *error)
{
    struct tls_context *context = calloc(1, sizeof(*context));
    SSL_CTX *ssl =
        context ? SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()) : NULL;
    if (!ssl || !set_rules(ssl)) {
        (void)error_set(error, ERROR_OUT_OF_MEMORY, "no memory for TLS");
        SSL_CTX_free(ssl);
        free(context);
        ERR_clear_error();
        return NULL;
    }
    *context = (struct tls_context){.ssl = ssl, .is_server = is_server};
    if (load_authority(ssl, files->authority, error) == 0 &&
        load_chain(ssl, files->certificate, error) == 0 && load_key(ssl, files->key, error) == 0 &&
        check_own(context, files->certificate, error) == 0)
        return context;
    tls_context_free(context);
    return NULL;
}

void tls_context_free(struct tls_context *context)
{
    if (context)
        SSL_CTX_free(context->ssl);
    free(context);
}

int64_t tls_context_expires_s(const struct tls_context *context)
{
    return context->expires_s;
}
