/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error object: formatting into its fixed buffers, and the table of codes. Runs in the gateway
 * on the calling thread; owns no state.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    const char *name;
    enum call_status status;
    bool retryable;
    const char *meaning;
    const char *hint;
} codes[ERROR_CODE_COUNT] = {
#define X(constant, name_, status_, retryable_, meaning_, hint_) \
    {name_, CALL_##status_, retryable_, meaning_, hint_},
    ERROR_CODES(X)
#undef X
};

/* Messages become JSON strings and log lines. Characters broken by a cut or a caller's "%s", and
 * control bytes, must not get there. */
static void make_presentable(char *text)
{
    unsigned char *bytes = (unsigned char *)text;
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = utf8_sequence(bytes, left);
        if (length == 0 || *bytes < 0x20 || *bytes == 0x7F) {
            *bytes = '?';
            length = 1;
        }
        bytes += length;
        left -= length;
    }
}

__attribute__((format(printf, 3, 0))) static void format_text(char *text, size_t size,
                                                              const char *format, va_list arguments)
{
    if (vsnprintf(text, size, format, arguments) < 0)
        text[0] = '\0';
    make_presentable(text);
}

/* Unlike strerror(): thread-safe, and not in the language of the host's locale. */
static void add_description(struct error *error, int error_number)
{
    const char *description = strerrordesc_np(error_number);
    size_t length = strlen(error->message);
    char *end = error->message + length;
    if (description)
        (void)snprintf(end, sizeof(error->message) - length, ": %s", description);
    else
        (void)snprintf(end, sizeof(error->message) - length, ": error %d", error_number);
    make_presentable(error->message);
}

__attribute__((format(printf, 4, 0))) static void set_all(struct error *error, enum error_code code,
                                                          int error_number, const char *format,
                                                          va_list arguments)
{
    format_text(error->message, sizeof(error->message), format, arguments);
    if (error_number != 0)
        add_description(error, error_number);
    error->code = code;
    error->retry_after_ms = 0;
    (void)snprintf(error->hint, sizeof(error->hint), "%s", error_code_hint(code));
}

int error_set(struct error *error, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_all(error, code, 0, format, arguments);
    va_end(arguments);
    return -1;
}

int error_set_errno(struct error *error, enum error_code code, int error_number, const char *format,
                    ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_all(error, code, error_number, format, arguments);
    va_end(arguments);
    return -1;
}

void error_set_hint(struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_text(error->hint, sizeof(error->hint), format, arguments);
    va_end(arguments);
}

int error_add_context(struct error *error, const char *format, ...)
{
    char context[sizeof(error->message)];
    va_list arguments;
    va_start(arguments, format);
    format_text(context, sizeof(context), format, arguments);
    va_end(arguments);

    size_t room = sizeof(error->message) - 1;
    size_t context_length = strlen(context);
    if (context_length > room - 2)
        context_length = room - 2;
    size_t message_length = strlen(error->message);
    if (message_length > room - 2 - context_length)
        message_length = room - 2 - context_length;
    memmove(error->message + context_length + 2, error->message, message_length);
    memcpy(error->message, context, context_length);
    memcpy(error->message + context_length, ": ", 2);
    error->message[context_length + 2 + message_length] = '\0';
    make_presentable(error->message);
    return -1;
}

const char *call_status_name(enum call_status status)
{
    static const char *const names[] = {
#define X(constant, name) name,
        CALL_STATUSES(X)
#undef X
    };
    return names[status];
}

const char *error_code_name(enum error_code code)
{
    return codes[code].name;
}

enum call_status error_code_status(enum error_code code)
{
    return codes[code].status;
}

bool error_code_retryable(enum error_code code)
{
    return codes[code].retryable;
}

const char *error_code_meaning(enum error_code code)
{
    return codes[code].meaning;
}

const char *error_code_hint(enum error_code code)
{
    return codes[code].hint;
}
