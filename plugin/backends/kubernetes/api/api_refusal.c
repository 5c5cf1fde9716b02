/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of an API server's errors, and of a missing answer: see api_client.h. The server
 * uses one status for several problems, which differ only in the message. Runs in the kubernetes
 * backend. */
#include <stdio.h>
#include <string.h>

#include "backends/kubernetes/api/api_client.h"
#include "base/cleanup.h"

#define STATUS_UNAUTHORIZED 401
#define STATUS_FORBIDDEN    403
#define STATUS_NOT_FOUND    404
#define STATUS_CONFLICT     409
#define STATUS_BUSY         429
#define STATUS_PAUSED       503

void api_refusal_text(const char *body, size_t length, char *ret, size_t size)
{
    json_auto_t *json = json_loadb(body, length, 0, NULL);
    const char *message = json_string_value(json_object_get(json, "message"));
    const char *text = message ? message : body;
    size_t left = message ? strlen(message) : length;
    size_t count = 0;
    for (; count < left && count + 1 < size; count++) {
        ret[count] = text[count];
        if (text[count] < ' ' || text[count] > '~')
            ret[count] = ' ';
    }
    ret[count] = '\0';
}

/* A refusal by RBAC reads 'User "..." cannot VERB resource "pods" ...'; admission gives its
 * objection to the pod. */
static enum api_problem explain_forbidden(const char *message)
{
    if (strstr(message, " cannot ") && strstr(message, "resource"))
        return API_PROBLEM_FORBIDDEN;
    if (strstr(message, "exceeded quota"))
        return API_PROBLEM_QUOTA;
    /* The default service account, which the cluster adds shortly after it made the namespace. */
    if (strstr(message, "error looking up service account"))
        return API_PROBLEM_BUSY;
    return API_PROBLEM_ADMISSION;
}

static enum api_problem explain_status(long status, const char *message)
{
    switch (status) {
    case STATUS_UNAUTHORIZED:
        return API_PROBLEM_UNAUTHORIZED;
    case STATUS_FORBIDDEN:
        return explain_forbidden(message);
    case STATUS_NOT_FOUND:
        return strstr(message, "namespaces ") ? API_PROBLEM_NO_NAMESPACE : API_PROBLEM_REFUSED;
    case STATUS_BUSY:
    case STATUS_PAUSED:
        return API_PROBLEM_BUSY;
    default:
        return API_PROBLEM_REFUSED;
    }
}

/* The right that an RBAC refusal names: 'User "..." cannot VERB resource "RESOURCE"'. */
static bool find_verb(const char *message, char *ret, size_t size)
{
    const char *verb = strstr(message, " cannot ");
    const char *resource = verb ? strstr(verb, "resource \"") : NULL;
    if (!resource)
        return false;
    verb += strlen(" cannot ");
    resource += strlen("resource \"");
    (void)snprintf(ret, size, "%.*s %.*s", (int)strcspn(verb, " "), verb,
                   (int)strcspn(resource, "\""), resource);
    return true;
}

void api_refusal_explain(long status, const char *body, size_t length, const char *what,
                         struct api_fault *fault)
{
    char message[API_MESSAGE_LIMIT];
    char lacking[64] = "";
    api_refusal_text(body, length, message, sizeof(message));
    enum api_problem problem = explain_status(status, message);
    if (problem == API_PROBLEM_FORBIDDEN && find_verb(message, lacking, sizeof(lacking)))
        api_fault_set(fault, problem, "the gateway's account may not \"%s\" in the cluster: %.150s",
                      lacking, message);
    else
        api_fault_set(fault, problem, "the API server refused to %s (%ld): %.180s", what, status,
                      message);
}

json_t *api_answer_take(const struct api_answer *answer, const char *what, struct api_fault *fault)
{
    if (answer->fault.problem != API_PROBLEM_NONE) {
        *fault = answer->fault;
        return NULL;
    }
    if (answer->status < 200 || answer->status > 299) {
        api_refusal_explain(answer->status, answer->body, answer->length, what, fault);
        fault->retry_after_ms = answer->retry_after_ms;
        return NULL;
    }
    json_t *json = json_loadb(answer->body, answer->length, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json))
        return json;
    json_decref(json);
    api_fault_set(fault, API_PROBLEM_SILENT, "the API server's answer is not a JSON object: %s",
                  what);
    return NULL;
}

bool api_answer_is_refusal(const struct api_answer *answer)
{
    return answer->fault.problem == API_PROBLEM_NONE && answer->status >= 400 &&
           answer->status < 500 && answer->status != STATUS_CONFLICT && !answer->was_paused;
}

bool api_answer_is_passing_conflict(const struct api_answer *answer)
{
    if (answer->fault.problem != API_PROBLEM_NONE || answer->status != STATUS_CONFLICT)
        return false;
    json_auto_t *status = json_loadb(answer->body, answer->length, 0, NULL);
    const char *reason = json_string_value(json_object_get(status, "reason"));
    return reason && strcmp(reason, "Conflict") == 0;
}

static enum api_problem explain_code(CURLcode result)
{
    static const struct {
        CURLcode result;
        enum api_problem problem;
    } rows[] = {
        {CURLE_COULDNT_RESOLVE_HOST, API_PROBLEM_UNREACHABLE},
        {CURLE_COULDNT_CONNECT, API_PROBLEM_UNREACHABLE},
        {CURLE_PEER_FAILED_VERIFICATION, API_PROBLEM_CERTIFICATES},
        {CURLE_SSL_CACERT_BADFILE, API_PROBLEM_CERTIFICATES},
        {CURLE_SSL_CERTPROBLEM, API_PROBLEM_CERTIFICATES},
        {CURLE_SSL_CONNECT_ERROR, API_PROBLEM_CERTIFICATES},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].result == result)
            return rows[i].problem;
    return API_PROBLEM_SILENT;
}

void api_failure_explain(CURLcode result, const struct api_server *server, const char *words,
                         struct api_fault *fault)
{
    static const char *const beginnings[API_PROBLEM_COUNT] = {
        [API_PROBLEM_UNREACHABLE] = "the API server is not reached",
        [API_PROBLEM_CERTIFICATES] = "TLS with the API server failed",
        [API_PROBLEM_SILENT] = "the API server does not answer",
    };
    enum api_problem problem = explain_code(result);
    char text[120];
    api_refusal_text(words, strlen(words), text, sizeof(text));
    api_fault_set(fault, problem, "%s (%.80s): %s", beginnings[problem], server->base,
                  text[0] ? text : curl_easy_strerror(result));
}
