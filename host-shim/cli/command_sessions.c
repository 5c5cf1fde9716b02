/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost sessions: lists and ends the sessions of a running server, at its socket of --control
 * (mcp/control.h). Main thread. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "base/write_fully.h"
#include "cli/commands.h"

#define ANSWER_LIMIT (8u << 20) /* bytes */
#define WAIT_S       10

/* The socket, or -1. */
static int connect_to(const char *path, struct failure *failure)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = WAIT_S};
    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)failure_usage(failure, "%s: the path is longer than a socket's may be", path);
        return -1;
    }
    (void)stpcpy(address.sun_path, path);
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return TAKE_FD(fd);
    (void)failure_set_errno(failure, "gateway_unavailable", errno, "cannot connect to %s", path);
    (void)failure_set_hint(failure, "the server has to be started with --control %s, by this user",
                           path);
    return -1;
}

/* The answer, new: an object without "error". NULL with a failure. */
static json_t *ask(const char *path, const json_t *request, struct failure *failure)
{
    CLEANUP_CLOSE int fd = connect_to(path, failure);
    CLEANUP_FREE char *line = fd >= 0 ? json_compact(request) : NULL;
    CLEANUP_FREE char *text = line ? malloc(ANSWER_LIMIT) : NULL;
    if (fd < 0)
        return NULL;
    if (!text) {
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    bool sent = write_fully(fd, line, strlen(line)) && write_fully(fd, "\n", 1);
    ssize_t length = sent ? read_up_to(fd, text, ANSWER_LIMIT) : -1;
    json_auto_t *answer =
        length > 0 ? json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *error = json_object_get(answer, "error");
    if (error)
        (void)failure_from_json(failure, error);
    else if (!json_is_object(answer))
        (void)failure_set(failure, "gateway_unavailable", "%s has given no answer", path);
    else
        return TAKE_POINTER(answer);
    return NULL;
}

static void write_text(FILE *out, const char *text)
{
    text_escape_write(out, text, strlen(text));
}

static void write_languages(FILE *out, const json_t *languages)
{
    size_t i;
    const json_t *language;
    if (json_array_size(languages) == 0)
        (void)fputc('?', out);
    json_array_foreach(languages, i, language)
    {
        if (i > 0)
            (void)fputc(',', out);
        write_text(out, json_is_string(language) ? json_string_value(language) : "?");
    }
}

static void write_session(FILE *out, const json_t *session)
{
    write_text(out, json_member_string(session, "id", "?"));
    (void)fprintf(out, "  %-4s  ", json_member_string(session, "state", "?"));
    write_languages(out, json_object_get(session, "languages"));
    (void)fprintf(out, "  %lld cells  idle %llds  %lld MiB  ",
                  (long long)json_member_integer(session, "cells", 0),
                  (long long)json_member_integer(session, "idle_ms", 0) / 1000,
                  (long long)json_member_integer(session, "memory_bytes", 0) >> 20);
    write_text(out, json_member_string(session, "principal", "-"));
    (void)fputc('\n', out);
}

static void write_sessions(FILE *out, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        write_session(out, json_array_get(list, i));
    if (json_array_size(list) == 0)
        (void)fputs("no sessions\n", out);
}

static void write_ended(FILE *out, const json_t *answer)
{
    (void)fputs("ended ", out);
    write_text(out, json_member_string(answer, "ended", "?"));
    (void)fputc('\n', out);
}

static bool list(const struct options *options, int out, struct failure *failure)
{
    json_auto_t *request = json_pack("{s:s}", "command", "sessions");
    json_auto_t *answer = ask(options->control, request, failure);
    const json_t *sessions = json_object_get(answer, "sessions");
    if (!answer)
        return false;
    return options->json ? console_print_json(out, sessions, failure)
                         : console_print_page(out, write_sessions, sessions, failure);
}

static bool end(const struct options *options, int out, struct failure *failure)
{
    json_auto_t *request =
        json_pack("{s:s, s:s}", "command", "end_session", "id", options->words[1]);
    if (!request)
        return failure_set(failure, "invalid_input", "the id is not UTF-8 text");
    json_auto_t *answer = ask(options->control, request, failure);
    if (!answer)
        return false;
    return options->json ? console_print_json(out, answer, failure)
                         : console_print_page(out, write_ended, answer, failure);
}

static bool perform(const struct options *options, int out, struct failure *failure)
{
    bool lists = strcmp(options->words[0], "list") == 0;
    if (!options->control) {
        (void)failure_usage(failure, "sessions needs --control PATH");
        return failure_set_hint(failure, "the same path as that of toolhost mcp --control PATH");
    }
    if (lists != (options->word_count == 1))
        return failure_usage(failure,
                             lists ? "sessions list takes no ID" : "sessions end needs ID");
    return lists ? list(options, out, failure) : end(options, out, failure);
}

int command_sessions(const struct options *options, int out)
{
    struct failure failure;
    if (perform(options, out, &failure))
        return EXIT_SUCCESS;
    console_print_failure(&failure);
    return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_FAILURE;
}
