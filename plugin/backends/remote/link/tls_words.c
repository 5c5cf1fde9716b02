/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the checks of the other side's certificate, and the words for what is wrong: see
 * tls_private.h. Runs in code-execute-remote and code-execute-worker. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "backends/remote/link/tls_private.h"
#include "base/ascii.h"

void tls_date(const ASN1_TIME *time, char ret[TLS_DATE_BYTES])
{
    struct tm parts = {0};
    if (ASN1_TIME_to_tm(time, &parts) != 1 ||
        strftime(ret, TLS_DATE_BYTES, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        (void)snprintf(ret, TLS_DATE_BYTES, "an unknown date");
}

bool tls_is_for(X509 *certificate, bool server)
{
    uint32_t uses = X509_get_extended_key_usage(certificate);
    return uses != UINT32_MAX && (uses & (server ? XKU_SSL_SERVER : XKU_SSL_CLIENT)) != 0;
}

/* Of SSL objects; made once. */
static int refusal_index(void)
{
    static int index = -1;
    if (index < 0)
        index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    return index;
}

bool tls_set_refusal(SSL *ssl, struct tls_refusal *refusal)
{
    return refusal_index() >= 0 && SSL_set_ex_data(ssl, refusal_index(), refusal) == 1;
}

/* The certificate of the chain that has expired: the other side's, or that of its issuer. */
static const char *whose(int depth)
{
    return depth == 0 ? "the other side's certificate" : "a certificate of its authority";
}

static void note(struct tls_refusal *ret, X509_STORE_CTX *store)
{
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    int depth = X509_STORE_CTX_get_error_depth(store);
    int code = X509_STORE_CTX_get_error(store);
    char date[TLS_DATE_BYTES] = "";
    switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        tls_date(X509_get0_notAfter(certificate), date);
        (void)snprintf(ret->message, sizeof(ret->message), "%s has expired on %s", whose(depth),
                       date);
        (void)snprintf(ret->hint, sizeof(ret->hint), "renew it there");
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        tls_date(X509_get0_notBefore(certificate), date);
        (void)snprintf(ret->message, sizeof(ret->message), "%s is not valid before %s",
                       whose(depth), date);
        (void)snprintf(ret->hint, sizeof(ret->hint), "compare the clocks of both machines");
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        (void)snprintf(ret->message, sizeof(ret->message),
                       "the other side's certificate is not of the authority that is named here");
        (void)snprintf(ret->hint, sizeof(ret->hint),
                       "both sides need certificates of one authority, and its file in \"tls\"");
        break;
    case X509_V_ERR_INVALID_PURPOSE:
        (void)snprintf(ret->message, sizeof(ret->message),
                       "the other side's certificate is not for that use");
        (void)snprintf(ret->hint, sizeof(ret->hint),
                       "a worker's needs extendedKeyUsage serverAuth, a gateway's clientAuth");
        break;
    default:
        (void)snprintf(ret->message, sizeof(ret->message), "%s is refused: %s", whose(depth),
                       X509_verify_cert_error_string(code));
    }
}

int tls_verify(int is_fine, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_refusal *refusal = ssl ? SSL_get_ex_data(ssl, refusal_index()) : NULL;
    /* OpenSSL accepts a certificate without a usage for any use. */
    if (is_fine && X509_STORE_CTX_get_error_depth(store) == 0 && ssl &&
        !tls_is_for(X509_STORE_CTX_get_current_cert(store), !SSL_is_server(ssl))) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_PURPOSE);
        is_fine = 0;
    }
    if (!is_fine && refusal && refusal->message[0] == '\0')
        note(refusal, store);
    return is_fine;
}

static void add_name(char *names, size_t capacity, const char *name)
{
    size_t length = strlen(names);
    (void)snprintf(names + length, capacity - length, "%s%s", length > 0 ? ", " : "", name);
}

static ptrdiff_t find_name(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, names[i]) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* A name of letters, digits, "-", "." and "_", NUL-terminated in ret. */
static bool read_name(const ASN1_IA5STRING *text, char *ret, size_t capacity)
{
    int length = ASN1_STRING_length(text);
    if (length <= 0 || (size_t)length >= capacity)
        return false;
    memcpy(ret, ASN1_STRING_get0_data(text), (size_t)length);
    ret[length] = '\0';
    return strspn(ret, ASCII_ALPHANUMERIC "-._") == (size_t)length;
}

ptrdiff_t tls_match_name(SSL *ssl, const char *const *names, size_t count, char *ret_names,
                         size_t capacity)
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    GENERAL_NAMES *list =
        certificate ? X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL) : NULL;
    ptrdiff_t found = -1;
    ret_names[0] = '\0';
    for (int i = 0; found < 0 && i < sk_GENERAL_NAME_num(list); i++) {
        const GENERAL_NAME *entry = sk_GENERAL_NAME_value(list, i);
        char name[256];
        if (entry->type != GEN_DNS || !read_name(entry->d.dNSName, name, sizeof(name)))
            continue;
        add_name(ret_names, capacity, name);
        found = find_name(name, names, count);
    }
    GENERAL_NAMES_free(list);
    if (ret_names[0] == '\0')
        add_name(ret_names, capacity, "no DNS name");
    return found;
}

/* The other side's objection to this side's certificate, by the alert that it sent. */
static const char *alert_words(int reason)
{
    switch (reason) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "the other side says that this side's certificate has expired, or is not valid yet";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "the other side does not know the authority of this side's certificate";
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        return "the other side says that this side's certificate is not for that use";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "the other side asks for a certificate";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        return "the other side refuses this side's certificate";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
        return "the other side does not speak TLS 1.3";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "the other side has no certificate";
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_UNEXPECTED_MESSAGE:
        return "the other side does not speak TLS";
    default:
        return NULL;
    }
}

static const char *remedy_of(int reason)
{
    switch (reason) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
        return "the address must be that of code-execute-worker's \"listen\"";
    default:
        return "compare the files of \"tls\" on both sides: one authority, valid dates, names";
    }
}

void tls_explain(int ssl_error, int error_number, const struct tls_refusal *refusal, bool is_server,
                 struct error *error)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    bool is_end = ssl_error == SSL_ERROR_ZERO_RETURN ||
                  (ssl_error == SSL_ERROR_SYSCALL && error_number == 0) ||
                  (ssl_error == SSL_ERROR_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING);
    const char *words = ssl_error == SSL_ERROR_SSL ? alert_words(reason) : NULL;
    if (refusal->message[0] != '\0') {
        (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "%s", refusal->message);
        if (refusal->hint[0] != '\0')
            error_set_hint(error, "%s", refusal->hint);
    } else if (is_end) {
        (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "the %s has closed the connection",
                        is_server ? "gateway" : "worker");
    } else if (ssl_error == SSL_ERROR_SYSCALL) {
        (void)error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, error_number,
                              "the connection is broken");
    } else if (words) {
        (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "%s", words);
        error_set_hint(error, "%s", remedy_of(reason));
    } else {
        const char *text = ERR_reason_error_string(ERR_peek_error());
        (void)error_set(error, ERROR_BACKEND_UNAVAILABLE, "TLS failed: %s",
                        text ? text : "no reason is given");
    }
    ERR_clear_error();
}
