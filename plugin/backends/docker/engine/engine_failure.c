/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the explanation of libcurl's failures: see engine_http.h. Runs in the docker backend. */
#include "backends/docker/engine/engine_http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct failure {
    CURL *easy;
    CURLcode result;
    const struct engine_address *address;
    const char *words; /* libcurl's, printable */
};

static bool is_tls(const struct failure *failure)
{
    return failure->address->certificates[0] != '\0';
}

/* The engine refuses this side's certificate by an alert: before TLS 1.3 in the handshake, since
 * then with the first answer. For a missing certificate some engines only report a handshake
 * failure. */
static bool is_alert(const struct failure *failure)
{
    const char *alert = is_tls(failure) ? strstr(failure->words, " alert ") : NULL;
    if (!alert)
        return failure->result == CURLE_SSL_CLIENTCERT;
    return strstr(alert, "certificate") || strstr(alert, "unknown ca") ||
           (strstr(alert, "handshake failure") && !failure->address->client_certificate);
}

static void explain_alert(const struct failure *failure, struct engine_fault *fault)
{
    const struct engine_address *address = failure->address;
    if (address->client_certificate)
        engine_fault_set(
            fault, ENGINE_PROBLEM_CERTIFICATES,
            "the Docker daemon refuses the client certificate %.60s/" ENGINE_CERTIFICATE ": %.100s",
            address->certificates, failure->words);
    else
        engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                         "the Docker daemon requires a client certificate, and there is no "
                         "%.60s/" ENGINE_CERTIFICATE ": %.80s",
                         address->certificates, failure->words);
}

/* Since TLS 1.3 the engine's alert comes after the handshake, when the request was already sent. An
 * engine that closes the connection then may discard its own alert. */
static bool is_hang_up(const struct failure *failure)
{
    long connections = 0;
    long received = 0;
    CURLcode result = failure->result;
    (void)curl_easy_getinfo(failure->easy, CURLINFO_NUM_CONNECTS, &connections);
    (void)curl_easy_getinfo(failure->easy, CURLINFO_HEADER_SIZE, &received);
    return is_tls(failure) && connections > 0 && received == 0 &&
           (result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
            result == CURLE_GOT_NOTHING);
}

static void explain_hang_up(const struct failure *failure, struct engine_fault *fault)
{
    bool has = failure->address->client_certificate;
    engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                     "the Docker daemon closes the connection before any answer: most likely it "
                     "%s client certificate%s %.60s/" ENGINE_CERTIFICATE,
                     has ? "refuses the" : "requires a", has ? "" : ", and there is no",
                     failure->address->certificates);
}

/* The verdict is about the chain of certificates (1 is none yet). A good chain leaves the host as
 * the reason. */
static void explain_peer(const struct failure *failure, struct engine_fault *fault)
{
    long verdict = 1;
    (void)curl_easy_getinfo(failure->easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
    if (verdict > 1)
        engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                         "the certificate of the Docker daemon at %.60s is not trusted by "
                         "%.50s/" ENGINE_CA ": %.70s",
                         failure->address->base, failure->address->certificates, failure->words);
    else
        engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                         "the certificate of the Docker daemon is not valid for the host of %.60s: "
                         "%.100s",
                         failure->address->base, failure->words);
}

static void explain_files(const struct failure *failure, struct engine_fault *fault)
{
    const char *directory = failure->address->certificates;
    if (failure->result == CURLE_SSL_CACERT_BADFILE)
        engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                         "there is no certificate in %.120s/" ENGINE_CA, directory);
    else
        engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                         ENGINE_CERTIFICATE " and " ENGINE_KEY " in %.60s cannot be used: %.90s",
                         directory, failure->words);
}

static bool connection_failed(const struct failure *failure)
{
    curl_off_t connected_us = 0;
    curl_off_t asked_us = 0; /* the only time that a reused connection has */
    if (failure->result == CURLE_COULDNT_CONNECT)
        return true;
    (void)curl_easy_getinfo(failure->easy, CURLINFO_CONNECT_TIME_T, &connected_us);
    (void)curl_easy_getinfo(failure->easy, CURLINFO_PRETRANSFER_TIME_T, &asked_us);
    return failure->result == CURLE_OPERATION_TIMEDOUT && connected_us == 0 && asked_us == 0;
}

static void explain_connection(const struct failure *failure, struct engine_fault *fault)
{
    long reason = 0;
    (void)curl_easy_getinfo(failure->easy, CURLINFO_OS_ERRNO, &reason);
    if (failure->address->socket_path[0] != '\0')
        engine_address_explain(failure->address, (int)reason, fault);
    else if (reason == ECONNREFUSED && failure->result == CURLE_COULDNT_CONNECT)
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_RUNNING,
                         "docker is not running: cannot connect to the Docker daemon at %.100s: "
                         "connection refused",
                         failure->address->base);
    else
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_RUNNING,
                         "cannot connect to the Docker daemon at %.80s: %.80s",
                         failure->address->base,
                         reason != 0 ? strerror((int)reason) : failure->words);
}

static void explain_by_result(const struct failure *failure, struct engine_fault *fault)
{
    CURLcode result = failure->result;
    if (connection_failed(failure))
        explain_connection(failure, fault);
    else if (result == CURLE_COULDNT_RESOLVE_HOST)
        engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                         "cannot connect to the Docker daemon at %.120s: no such host",
                         failure->address->base);
    else if (is_alert(failure))
        explain_alert(failure, fault);
    else if (is_hang_up(failure))
        explain_hang_up(failure, fault);
    else if (result == CURLE_PEER_FAILED_VERIFICATION)
        explain_peer(failure, fault);
    else if (result == CURLE_SSL_CACERT_BADFILE || result == CURLE_SSL_CERTPROBLEM)
        explain_files(failure, fault);
    else if (result == CURLE_SSL_CONNECT_ERROR)
        engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                         "TLS handshake with the Docker daemon at %.60s failed: %.110s",
                         failure->address->base, failure->words);
    else if (result == CURLE_OPERATION_TIMEDOUT)
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "the Docker daemon did not answer in time");
    else
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "docker's answer is broken: %.150s",
                         failure->words);
}

void engine_failure_explain(CURL *easy, CURLcode result, const struct engine_address *address,
                            const char *words, struct engine_fault *fault)
{
    char text[CURL_ERROR_SIZE];
    const struct failure failure = {easy, result, address, text};
    (void)snprintf(text, sizeof(text), "%s", words[0] ? words : curl_easy_strerror(result));
    /* They may hold names that the peer has chosen. */
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
    explain_by_result(&failure, fault);
}
