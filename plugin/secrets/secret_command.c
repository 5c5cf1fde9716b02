/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that a command prints. The command is no child of this process: a helper program of ours
 * is started as a backend is, runs the command, and sends its output over its control socket. Runs
 * in the gateway, on the thread inside tool_invoke().
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/string_list.h"
#include "program/backend_program.h"
#include "protocol/channel.h"
#include "protocol/orders/secret_order.h"
#include "secrets/secret_provider.h"
#include "vocabulary/environment.h"

#define HELPER "code-execute-secret"

static enum secret_answer command_failed(struct error *error, const char *name, const char *why,
                                         ...) __attribute__((format(printf, 3, 4)));

static enum secret_answer command_failed(struct error *error, const char *name, const char *why,
                                         ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, why);
    (void)vsnprintf(text, sizeof(text), why, arguments);
    va_end(arguments);
    error_set(error, ERROR_SECRET_UNAVAILABLE, "the command for the secret \"%s\" %s", name, text);
    return SECRET_FAILED;
}

/* Not strerror(): it speaks the language of the host's locale. */
static enum secret_answer command_failed_errno(struct error *error, const char *name,
                                               const char *what, int error_number)
{
    error_set_errno(error, ERROR_SECRET_UNAVAILABLE, error_number,
                    "the command for the secret \"%s\" %s", name, what);
    return SECRET_FAILED;
}

static char **make_argv(const struct secret_provider *provider, const char *name)
{
    size_t count = string_list_count(provider->argv);
    CLEANUP(cleanup_string_list) char **argv = string_list_new(count);
    for (size_t i = 0; argv && i < count; i++) {
        bool is_place = strcmp(provider->argv[i], SECRET_NAME_PLACEHOLDER) == 0;
        argv[i] = strdup(is_place ? name : provider->argv[i]);
        if (!argv[i])
            return NULL;
    }
    return TAKE_POINTER(argv);
}

/* The function that frees it wipes it: an inherited variable may be a token. */
static char **make_environment(const struct secret_provider *provider)
{
    static const char path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char **environment = string_list_new(0);
    bool made = environment && environment_set(&environment, "PATH", path, sizeof(path) - 1);
    for (char **name = provider->inherit; made && name && *name; name++) {
        const char *value = secure_getenv(*name);
        if (value)
            made = environment_set(&environment, *name, value, strlen(value));
    }
    if (made && environment_set_all(&environment, provider->environment))
        return environment;
    secret_order_clear(&(struct secret_order){.environment = environment});
    return NULL;
}

static void free_order(unsigned char **message, size_t length)
{
    if (*message)
        explicit_bzero(*message, length);
    free(*message);
}

static bool send_order(int control, const struct secret_provider *provider, const char *name,
                       struct error *error)
{
    CLEANUP(secret_order_clear)
    struct secret_order order = {
        .argv = make_argv(provider, name),
        .environment = make_environment(provider),
        .timeout_ms = provider->timeout_ms,
    };
    size_t length = 0;
    unsigned char *message =
        order.argv && order.environment ? secret_order_encode(&order, &length) : NULL;
    bool sent = message && channel_send(control, message, length, NULL, 0) == 0;
    if (!message)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the command of the secret \"%s\"",
                  name);
    else if (!sent)
        (void)command_failed_errno(error, name, "could not be started", errno);
    free_order(&message, length);
    return sent;
}

/* Readable: the reply is there, or the helper has died. */
static bool await_reply(int control, int cancel_fd, const char *name, uint64_t deadline_ms,
                        struct error *error)
{
    for (;;) {
        struct pollfd entries[] = {
            {.fd = control, .events = POLLIN},
            {.fd = cancel_fd, .events = POLLIN},
        };
        int ready = poll(entries, COUNT_OF(entries), deadline_poll_timeout(deadline_ms));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready > 0 && entries[1].revents != 0) {
            error_set(error, ERROR_CANCELLED, "cancelled while its secrets were fetched");
            return false;
        }
        if (ready > 0)
            return true;
        (void)command_failed(error, name,
                             "did not end, and the program that runs it does not answer");
        return false;
    }
}

static enum secret_answer take_reply(const struct secret_reply *reply, const char *name,
                                     struct secret_value *value, struct secret_value *ret,
                                     struct error *error)
{
    switch (reply->outcome) {
    case SECRET_OUTCOME_VALUE:
        memmove(value->memory.bytes, value->memory.bytes + SECRET_REPLY_HEADER, reply->length);
        value->length = reply->length;
        return secret_value_take(name, value, ret, error);
    case SECRET_OUTCOME_TOO_LARGE:
        return secret_too_large(name, error);
    case SECRET_OUTCOME_NOT_STARTED:
        return command_failed_errno(error, name, "cannot be started", (int)reply->detail);
    case SECRET_OUTCOME_STATUS:
        return command_failed(error, name, "ended with status %u", reply->detail);
    case SECRET_OUTCOME_SIGNAL:
        return command_failed(error, name, "was ended by signal %u", reply->detail);
    case SECRET_OUTCOME_TIMEOUT:
        return command_failed(error, name, "did not end in time and was killed");
    case SECRET_OUTCOME_FAULT:
    case SECRET_OUTCOME_COUNT:
    default:
        return command_failed_errno(error, name, "was not run", (int)reply->detail);
    }
}

static enum secret_answer receive_reply(int control, const char *name, struct secret_value *ret,
                                        struct error *error)
{
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    struct secret_reply reply;
    size_t fd_count = 0;
    if (!secret_value_make(name, SECRET_REPLY_LIMIT, &value, error))
        return SECRET_FAILED;
    ssize_t length =
        channel_receive(control, value.memory.bytes, SECRET_REPLY_LIMIT, NULL, 0, &fd_count);
    if (length <= 0 || !secret_reply_decode(value.memory.bytes, (size_t)length, &reply))
        return command_failed(error, name, "was not run: %s did not answer", HELPER);
    return take_reply(&reply, name, &value, ret, error);
}

enum secret_answer secret_command_read(const struct secret_provider *provider, const char *name,
                                       int cancel_fd, struct secret_value *ret, struct error *error)
{
    struct error reason;
    CLEANUP(backend_program_stop) struct backend_program helper = BACKEND_PROGRAM_NONE;
    if (backend_program_start(HELPER, &helper, &reason) != 0)
        return command_failed(error, name, "was not run: %s", reason.message);
    uint64_t deadline_ms = monotonic_ms() + provider->timeout_ms + SECRET_COMMAND_GRACE_MS;
    if (!send_order(helper.control, provider, name, error) ||
        !await_reply(helper.control, cancel_fd, name, deadline_ms, error))
        return SECRET_FAILED;
    return receive_reply(helper.control, name, ret, error);
}
