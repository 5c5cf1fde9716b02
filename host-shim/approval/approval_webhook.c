/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a web service. On the thread inside tool_invoke(). */
#include "approval/approval.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/digest.h"
#include "base/hmac_key.h"
#include "base/json.h"
#include "base/number.h"

#define ANSWER_LIMIT   (6u << 20) /* an edit holds a whole request */
#define CONNECT_MS     10000L
#define POLL_EVERY_MS  1000
#define CLOCK_LEEWAY_S 300
#define NONCE_DIGITS   32u
#define DECIDED        200
#define NOT_YET        202

/* The signed text names its kind, so one kind of message cannot pass for another. */
#define SIGNED_REQUEST "toolhost-approval-request-v1"
#define SIGNED_POLL    "toolhost-approval-poll-v1"
#define SIGNED_ANSWER  "toolhost-approval-answer-v1"

struct webhook {
    CURL *curl;
    struct hmac_key key;
    const char *url;
    char nonce[NONCE_DIGITS + 1];
    uint64_t deadline;
    int cancelled_fd;
    char *body; /* of the answer */
    size_t length;
    bool too_long, cancelled;
    char curl_error[CURL_ERROR_SIZE];
};

static void webhook_clear(struct webhook *webhook)
{
    curl_easy_cleanup(webhook->curl);
    hmac_key_wipe(&webhook->key);
    free(webhook->body);
}

/* HMAC-SHA-256 over kind, time, nonce and body, a line each. */
static void sign_message(const struct webhook *webhook, const char *kind, const char *timestamp,
                         const char *body, size_t length, char ret_hex[SHA256_HEX + 1])
{
    const struct digest_part parts[] = {{kind, strlen(kind)},
                                        {"\n", 1},
                                        {timestamp, strlen(timestamp)},
                                        {"\n", 1},
                                        {webhook->nonce, strlen(webhook->nonce)},
                                        {"\n", 1},
                                        {body, length}};
    hmac_sha256_hex(webhook->key.bytes, webhook->key.length, parts, COUNT_OF(parts), ret_hex);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct webhook *webhook = user;
    size_t length = size * count;
    webhook->too_long = length > ANSWER_LIMIT - webhook->length;
    char *grown = webhook->too_long ? NULL : realloc(webhook->body, webhook->length + length + 1);
    if (!grown)
        return CURL_WRITEFUNC_ERROR;
    memcpy(grown + webhook->length, bytes, length);
    webhook->body = grown;
    webhook->length += length;
    return length;
}

static int look_for_cancellation(void *user, curl_off_t to_get, curl_off_t got, curl_off_t to_send,
                                 curl_off_t sent)
{
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    struct webhook *webhook = user;
    struct pollfd cancelled = {.fd = webhook->cancelled_fd, .events = POLLIN};
    webhook->cancelled = webhook->cancelled || poll(&cancelled, 1, 0) > 0;
    return webhook->cancelled;
}

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)user;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Plain HTTP is for this machine alone, by its address: a name may resolve to any machine. */
static bool check_url(struct webhook *webhook, struct approval_decision *ret)
{
    CURLU *url = curl_url();
    char *scheme = NULL;
    char *host = NULL;
    bool parsed = url && curl_url_set(url, CURLUPART_URL, webhook->url, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool secure = parsed && strcmp(scheme, "https") == 0;
    bool local = parsed && strcmp(scheme, "http") == 0 &&
                 (strcmp(host, "127.0.0.1") == 0 || strcmp(host, "[::1]") == 0);
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    if (!secure && !local)
        approval_unavailable(ret, "the webhook must be https, or http to 127.0.0.1 or [::1]");
    else if (local)
        (void)curl_easy_setopt(webhook->curl, CURLOPT_PROXY, "");
    return secure || local;
}

static bool prepare_webhook(struct webhook *webhook, const struct approver *approver,
                            struct approval_decision *ret)
{
    struct failure failure;
    if (!approver->webhook_key) {
        approval_unavailable(ret, "the webhook has no key: give --webhook-key FILE");
        return false;
    }
    if (!hmac_key_read(approver->webhook_key, &webhook->key, &failure)) {
        approval_unavailable(ret, "%.400s", failure.message);
        return false;
    }
    webhook->curl = curl_easy_init();
    if (!webhook->curl || !hex_random(webhook->nonce, NONCE_DIGITS)) {
        approval_unavailable(ret, "the webhook cannot be asked");
        return false;
    }
    return check_url(webhook, ret);
}

static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[256];
    (void)snprintf(line, sizeof(line), "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer)
        *headers = longer;
    return longer != NULL;
}

static bool make_headers(const struct webhook *webhook, const char *kind, const char *body,
                         size_t length, struct curl_slist **headers)
{
    char timestamp[32];
    char signature[sizeof("v1=") + SHA256_HEX] = "v1=";
    (void)snprintf(timestamp, sizeof(timestamp), "%" PRId64, (int64_t)time(NULL));
    sign_message(webhook, kind, timestamp, body, length, signature + 3);
    return add_header(headers, "Content-Type", "application/json") &&
           add_header(headers, "Expect", "") &&
           add_header(headers, "X-Toolhost-Timestamp", timestamp) &&
           add_header(headers, "X-Toolhost-Nonce", webhook->nonce) &&
           add_header(headers, "X-Toolhost-Signature", signature);
}

static void set_up(struct webhook *webhook, const char *body, size_t length,
                   struct curl_slist *headers)
{
    CURL *curl = webhook->curl;
    (void)curl_easy_setopt(curl, CURLOPT_URL, webhook->url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, webhook->curl_error);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                           (long)deadline_poll_timeout(webhook->deadline) + 1);
    (void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, webhook);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_cancellation);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, webhook);
    if (body) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    } else {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }
}

/* One exchange; body NULL: asks whether it is decided by now. 0: it failed, and is denied. */
static long exchange(struct webhook *webhook, const char *body, struct approval_decision *ret)
{
    struct curl_slist *headers = NULL;
    size_t length = body ? strlen(body) : 0;
    long status = 0;
    free(TAKE_POINTER(webhook->body));
    webhook->length = 0;
    CURLcode result = CURLE_OUT_OF_MEMORY;
    if (make_headers(webhook, body ? SIGNED_REQUEST : SIGNED_POLL, body ? body : "", length,
                     &headers)) {
        set_up(webhook, body, length, headers);
        result = curl_easy_perform(webhook->curl);
    }
    curl_slist_free_all(headers);
    if (result == CURLE_OK)
        (void)curl_easy_getinfo(webhook->curl, CURLINFO_RESPONSE_CODE, &status);
    else if (webhook->cancelled)
        approval_unavailable(ret, "the call was cancelled");
    else if (result == CURLE_OPERATION_TIMEDOUT && deadline_poll_timeout(webhook->deadline) == 0)
        approval_unavailable(ret, "nobody answered in time");
    else if (webhook->too_long)
        approval_deny(ret, "the webhook's answer is longer than %u bytes", ANSWER_LIMIT);
    else
        approval_unavailable(ret, "the webhook could not be asked: %s",
                             webhook->curl_error[0] ? webhook->curl_error
                                                    : curl_easy_strerror(result));
    return status;
}

/* The header's value where there is exactly one of that name. */
static const char *header_value(const struct webhook *webhook, const char *name)
{
    struct curl_header *found = NULL;
    bool one = curl_easy_header(webhook->curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK &&
               found->amount == 1;
    return one ? found->value : "";
}

static bool is_signed(const struct webhook *webhook)
{
    char expected[SHA256_HEX + 1];
    uint64_t sent_at = 0;
    /* Each lives until the next is asked for. */
    CLEANUP_FREE char *timestamp = strdup(header_value(webhook, "X-Toolhost-Timestamp"));
    const char *signature = header_value(webhook, "X-Toolhost-Signature");
    if (!timestamp || !number_parse(timestamp, INT64_MAX, &sent_at) ||
        strlen(signature) != 3 + SHA256_HEX || strncmp(signature, "v1=", 3) != 0)
        return false;
    sign_message(webhook, SIGNED_ANSWER, timestamp, webhook->body ? webhook->body : "",
                 webhook->length, expected);
    int64_t apart = (int64_t)sent_at - (int64_t)time(NULL);
    return !hex_differs(signature + 3, expected, SHA256_HEX) && apart <= CLOCK_LEEWAY_S &&
           apart >= -CLOCK_LEEWAY_S;
}

static void read_answer(const struct webhook *webhook, const json_t *request,
                        struct approval_decision *ret)
{
    if (!is_signed(webhook)) {
        approval_deny(ret, "the webhook's answer has no valid signature");
        return;
    }
    json_auto_t *answer = json_loadb(webhook->body ? webhook->body : "", webhook->length,
                                     JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_string(json_object_get(answer, "request_sha256"))) {
        approval_deny(ret, "the webhook's answer does not name its request");
        return;
    }
    const char *person = json_member_string(answer, "approver", NULL);
    if (person)
        (void)snprintf(ret->approver, sizeof(ret->approver), "webhook:%.160s", person);
    approval_read_decision(webhook->body, webhook->length, request, ret);
}

static void ask_service(struct webhook *webhook, const struct approval_question *question,
                        struct approval_decision *ret)
{
    long status = exchange(webhook, question->request_json, ret);
    while (status == NOT_YET) {
        if (!approval_wait(-1, webhook->cancelled_fd, webhook->deadline, POLL_EVERY_MS, ret))
            return;
        status = exchange(webhook, NULL, ret);
    }
    if (status == DECIDED)
        read_answer(webhook, question->request, ret);
    else if (status != 0)
        approval_unavailable(ret, "the webhook answered with status %ld", status);
}

void approval_by_webhook(const struct approval_question *question, struct approval_decision *ret)
{
    CLEANUP(webhook_clear)
    struct webhook webhook = {
        .url = question->approver->target,
        .deadline = monotonic_ms() + approval_wait_ms(question->request),
        .cancelled_fd = question->cancelled_fd,
    };
    (void)snprintf(ret->approver, sizeof(ret->approver), "webhook");
    if (prepare_webhook(&webhook, question->approver, ret))
        ask_service(&webhook, question, ret);
}
