/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the failure object that every fallible function of toolhost carries upwards. Any thread.
 */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

__attribute__((format(printf, 3, 0))) static void fill(struct failure *failure, const char *code,
                                                       const char *format, va_list arguments)
{
    (void)snprintf(failure->code, sizeof(failure->code), "%s", code);
    (void)vsnprintf(failure->message, sizeof(failure->message), format, arguments);
    failure->hint[0] = '\0';
}

bool failure_set(struct failure *failure, const char *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(failure, code, format, arguments);
    va_end(arguments);
    return false;
}

bool failure_set_errno(struct failure *failure, const char *code, int error_number,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(failure, code, format, arguments);
    va_end(arguments);
    size_t used = strlen(failure->message);
    char text[128];
    (void)snprintf(failure->message + used, sizeof(failure->message) - used, ": %s",
                   strerror_r(error_number, text, sizeof(text)));
    return false;
}

bool failure_usage(struct failure *failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(failure, "usage", format, arguments);
    va_end(arguments);
    return failure_set_hint(failure, "toolhost --help");
}

bool failure_is_usage(const struct failure *failure)
{
    return strcmp(failure->code, "usage") == 0;
}

bool failure_out_of_memory(struct failure *failure)
{
    return failure_set(failure, "out_of_memory", "out of memory");
}

bool failure_set_hint(struct failure *failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure->hint, sizeof(failure->hint), format, arguments);
    va_end(arguments);
    return false;
}

/* A provider's words, with each NUL in them shown as its symbol. */
static void copy_words(char *ret, size_t size, const json_t *object, const char *name,
                       const char *fallback)
{
    static const char symbol[] = "\xe2\x90\x80"; /* U+2400 */
    const json_t *words = json_object_get(object, name);
    const char *text = json_is_string(words) ? json_string_value(words) : fallback;
    size_t length = json_is_string(words) ? json_string_length(words) : strlen(fallback);
    size_t used = 0;
    for (size_t i = 0; i < length && used + sizeof(symbol) <= size; i++) {
        if (text[i])
            ret[used++] = text[i];
        else
            used = (size_t)(stpcpy(ret + used, symbol) - ret);
    }
    ret[used] = '\0';
}

bool failure_from_json(struct failure *failure, const json_t *error)
{
    (void)failure_set(failure, json_member_string(error, "code", "error"), "%s", "");
    copy_words(failure->message, sizeof(failure->message), error, "message",
               "the provider gave no reason");
    copy_words(failure->hint, sizeof(failure->hint), error, "hint", "");
    return false;
}

const char *failure_after_code(const char *code, const char *message)
{
    size_t length = strlen(code);
    for (size_t i = 0; i < length; i++) {
        if (message[i] != (code[i] == '_' ? ' ' : code[i]))
            return message;
    }
    return strncmp(message + length, ": ", 2) == 0 && message[length + 2] ? message + length + 2
                                                                          : message;
}

json_t *failure_to_json(const struct failure *failure)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "code", failure->code, "message", failure->message,
                     "hint", failure->hint, "retryable", 0);
}
