/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the making of certificates with OpenSSL: see certificates.h. */
#include "certificates.h"

#include <check.h>
#include <dirent.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_S 86400L

static char directory[64];

void certificates_begin(void)
{
    (void)snprintf(directory, sizeof(directory), "/tmp/remote-certificates-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

void certificates_remove(void)
{
    DIR *stream = opendir(directory);
    ck_assert_ptr_nonnull(stream);
    for (const struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
        (void)unlinkat(dirfd(stream), entry->d_name, 0);
    (void)closedir(stream);
    (void)rmdir(directory);
}

const char *certificate_path(const char *name, const char *ending)
{
    static char paths[4][256];
    static size_t turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s.%s", directory, name, ending);
    return path;
}

static void write_key(const char *name, EVP_PKEY *key)
{
    const char *path = certificate_path(name, "key");
    FILE *file = fopen(path, "we");
    ck_assert(file && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    (void)fclose(file);
    ck_assert_int_eq(chmod(path, 0600), 0);
}

static void write_certificate(const char *name, X509 *certificate)
{
    FILE *file = fopen(certificate_path(name, "pem"), "we");
    ck_assert(file && PEM_write_X509(file, certificate) == 1);
    (void)fclose(file);
}

static EVP_PKEY *read_key(const char *name)
{
    FILE *file = fopen(certificate_path(name, "key"), "re");
    ck_assert_ptr_nonnull(file);
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(key);
    (void)fclose(file);
    return key;
}

static X509 *read_certificate(const char *name)
{
    FILE *file = fopen(certificate_path(name, "pem"), "re");
    ck_assert_ptr_nonnull(file);
    X509 *certificate = PEM_read_X509(file, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(certificate);
    (void)fclose(file);
    return certificate;
}

static X509 *begin_certificate(const char *name, EVP_PKEY *key, long begins_s, long ends_s)
{
    static long serial = 1;
    X509 *certificate = X509_new();
    ck_assert(certificate && X509_set_version(certificate, X509_VERSION_3) == 1 &&
              ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(certificate), begins_s) &&
              X509_gmtime_adj(X509_getm_notAfter(certificate), ends_s) &&
              X509_set_pubkey(certificate, key) == 1 &&
              X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                         (const unsigned char *)name, -1, -1, 0) == 1);
    return certificate;
}

static void add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    ck_assert(extension && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

void authority_make(const char *authority)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    ck_assert_ptr_nonnull(key);
    X509 *certificate = begin_certificate(authority, key, -DAY_S, DAY_S);
    ck_assert_int_eq(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)), 1);
    add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign");
    ck_assert_int_gt(X509_sign(certificate, key, EVP_sha256()), 0);
    write_certificate(authority, certificate);
    write_key(authority, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void certificate_make(const char *authority, const char *name, const struct certificate_wish *wish)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    ck_assert_ptr_nonnull(key);
    EVP_PKEY *authority_key = read_key(authority);
    X509 *issuer = read_certificate(authority);
    X509 *certificate = begin_certificate(name, key, wish->begins_s, wish->ends_s);
    char names[256];
    ck_assert_int_eq(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)), 1);
    if (wish->dns_name) {
        (void)snprintf(names, sizeof(names), "DNS:other.test,DNS:%s", wish->dns_name);
        add_extension(certificate, issuer, NID_subject_alt_name, names);
    }
    if (wish->use != USE_NOTHING)
        add_extension(certificate, issuer, NID_ext_key_usage,
                      wish->use == USE_SERVER ? "serverAuth" : "clientAuth");
    ck_assert_int_gt(X509_sign(certificate, authority_key, EVP_sha256()), 0);
    write_certificate(name, certificate);
    write_key(name, key);
    X509_free(certificate);
    X509_free(issuer);
    EVP_PKEY_free(authority_key);
    EVP_PKEY_free(key);
}

struct tls_context *context_of(bool is_server, const char *authority, const char *name,
                               struct error *error)
{
    const struct tls_files files = {
        .authority = certificate_path(authority, "pem"),
        .certificate = certificate_path(name, "pem"),
        .key = certificate_path(name, "key"),
    };
    return tls_context_new(is_server, &files, error);
}

void certificates_make_usual(void)
{
    const struct certificate_wish worker = {"worker.test", USE_SERVER, -60, DAY_S};
    const struct certificate_wish gateway = {"gateway.test", USE_CLIENT, -60, DAY_S};
    authority_make("authority");
    certificate_make("authority", "worker", &worker);
    certificate_make("authority", "gateway", &gateway);
}
