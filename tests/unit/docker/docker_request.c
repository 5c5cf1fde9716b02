/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the generator of requests: see docker_request.h. */
#include "docker_request.h"

#include <stdio.h>
#include <string.h>

#include "../support/random.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define PIECES_LIMIT 4
#define TIMEOUT_MOST 300000

/* As they are written inside a JSON string. */
static const char *const pieces[] = {
    ("\\\"},\\\"HostConfig\\\":{\\\"Privileged\\\":true,\\\"Binds\\\":[\\\"/:/"
     "host\\\"]},\\\"x\\\":{"
     "\\\""),
    "\\\",\\\"Image\\\":\\\"evil:1",
    "\\r\\nHost: evil\\r\\n\\r\\nPOST /v1.41/containers/create HTTP/1.1\\r\\n",
    "\\\\",
    "\\\\\\\"",
    "'; put '/etc/passwd' 5; '",
    "$(id) `id` ${IFS}",
    "%s%n%d",
    "\\u0001\\u001b[2J\\u007f",
    "\\u00e9\\u2028\\u2029",
    "\\ud83d\\ude00",
    "\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBD",
    "\xE2\x80\xAE",
    "\\/..\\/..\\/",
    "\\t\\b\\f",
    "{{secret:x}}",
    "code-execute.boot",
    "",
    " ",
    "a",
};

static void put(struct random_request *request, const char *text)
{
    size_t length = strlen(text);
    HOLDS(request->length + length < sizeof(request->text), "too long");
    memcpy(request->text + request->length, text, length + 1);
    request->length += length;
}

static void put_pieces(uint64_t *state, struct random_request *request)
{
    for (size_t count = random_below(state, PIECES_LIMIT); count > 0; count--)
        put(request, pieces[random_below(state, COUNT_OF(pieces))]);
}

static void put_canary(uint64_t *state, struct random_request *request)
{
    char text[sizeof(CANARY) + 16] = CANARY;
    uint64_t digits = random_next(state);
    for (size_t i = sizeof(CANARY) - 1; i < sizeof(text) - 1; i++, digits >>= 4)
        text[i] = "0123456789abcdef"[digits & 15];
    put(request, text);
    request->canaries++;
}

/* The inside of a string of the program's. */
static void put_text(uint64_t *state, struct random_request *request)
{
    put_pieces(state, request);
    put_canary(state, request);
    put_pieces(state, request);
}

static void put_args(uint64_t *state, struct random_request *request)
{
    put(request, ",\"args\":[");
    for (size_t count = random_below(state, 4); count > 0; count--) {
        put(request, "\"");
        put_text(state, request);
        put(request, count > 1 ? "\"," : "\"");
    }
    put(request, "]");
}

static void put_env(uint64_t *state, struct random_request *request)
{
    static const char *const names[] = {"PATH", "HostConfig", "LD_PRELOAD"};
    put(request, ",\"env\":{");
    for (size_t i = random_below(state, COUNT_OF(names) + 1); i > 0; i--) {
        put(request, "\"");
        put(request, names[i - 1]);
        put(request, "\":\"");
        put_text(state, request);
        put(request, i > 1 ? "\"," : "\"");
    }
    put(request, "}");
}

static void put_files(uint64_t *state, struct random_request *request)
{
    /* cNaRy-base64, a canary in the other encoding. */
    static const char encoded[] = "Y05hUnktYmFzZTY0";
    put(request, ",\"files\":[{\"path\":\"d/");
    put_canary(state, request);
    put(request, "\",\"content\":\"");
    put_text(state, request);
    put(request, "\"}");
    if (random_below(state, 2)) {
        put(request, ",{\"path\":\"it's \\\"b\\\"\",\"encoding\":\"base64\",\"content\":\"");
        put(request, encoded);
        put(request, "\"}");
        request->canaries++;
    }
    put(request, "]");
}

static void put_stdin(uint64_t *state, struct random_request *request)
{
    put(request, ",\"stdin\":\"");
    put_text(state, request);
    put(request, "\"");
    request->canaries--;
    request->stdin_canary = true;
}

static void put_timeout(uint64_t *state, struct random_request *request)
{
    char text[48];
    request->timeout_ms = 1 + random_below(state, TIMEOUT_MOST);
    (void)snprintf(text, sizeof(text), ",\"timeout_ms\":%llu",
                   (unsigned long long)request->timeout_ms);
    put(request, text);
}

static void put_image(uint64_t *state, struct random_request *request)
{
    static const char *const foreign[] = {
        "evil:1\\\",\\\"HostConfig\\\":{\\\"Privileged\\\":true}",
        OFFERED_IMAGE "\\\"",
        "../../containers/create?name=evil",
        "evil@sha256:"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        OFFERED_IMAGE "#",
    };
    request->foreign_image = random_below(state, 8) == 0;
    put(request, ",\"image\":\"");
    put(request,
        request->foreign_image ? foreign[random_below(state, COUNT_OF(foreign))] : OFFERED_IMAGE);
    put(request, "\"");
}

void random_request_make(uint64_t *state, struct random_request *ret)
{
    static const char *const languages[] = {"python", "sh", "javascript", "ruby"};
    static void (*const members[])(uint64_t * state, struct random_request * request) = {
        put_args, put_env, put_files, put_stdin, put_timeout, put_image};
    ret->length = ret->canaries = 0;
    ret->stdin_canary = ret->network = ret->foreign_image = false;
    ret->timeout_ms = 0;
    put(ret, "{\"language\":\"");
    put(ret, languages[random_below(state, COUNT_OF(languages))]);
    put(ret, "\",\"code\":\"");
    put_text(state, ret);
    put(ret, "\"");
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (random_below(state, 2))
            members[i](state, ret);
    ret->network = random_below(state, 4) == 0;
    put(ret, ret->network ? ",\"network\":true}" : "}");
}
