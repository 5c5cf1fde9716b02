/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the command's words, its output and its exit status: see tool_command.h. */
#include "interpreter/tool_command/tool_command.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "interpreter/tool_command/json_slice.h"
#include "interpreter/tool_command/tool_channel.h"
#include "interpreter/tool_command/tool_frame.h"
#include "interpreter/tool_command/tool_listing.h"

/* As in sysexits.h, where it has one. */
enum status {
    STATUS_DONE = 0,
    STATUS_TOOL_ERROR = 1,   /* of the tool itself */
    STATUS_WRONG_USE = 2,    /* of the command, or of the tool */
    STATUS_UNAVAILABLE = 69, /* there is no answer, and would be none to the same call */
    STATUS_OUTPUT = 74,      /* the answer cannot be written */
    STATUS_RETRY = 75,       /* the same call may succeed later */
    STATUS_DENIED = 77
};

static const struct {
    const char *code;
    enum status status;
} statuses[] = {
    /* Those that are retryable say so themselves. */
    {"tool_error", STATUS_TOOL_ERROR},  {"invalid_arguments", STATUS_WRONG_USE},
    {"unknown_tool", STATUS_WRONG_USE}, {"policy_denied", STATUS_DENIED},
    {"access_denied", STATUS_DENIED},   {"approval_denied", STATUS_DENIED},
    {"host_denied", STATUS_DENIED},
};

static const char usage[] =
    "usage: tool NAME ['{\"PARAMETER\": VALUE}' | -]   calls a tool; -: the arguments are on "
    "standard input\n"
    "       tool --names                           prints the names of the tools\n"
    "       tool --describe NAME                   prints what the gateway says of one\n"
    "       tool --search WORD...                  prints the names of those that have such "
    "words\n";

static enum status refuse_use(const char *what)
{
    (void)fprintf(stderr, "tool: %s\n%s", what, usage);
    return STATUS_WRONG_USE;
}

/* One line, whatever the message is. */
static void print_failure(const char *name, const char *code, const char *message)
{
    (void)fprintf(stderr, "tool: %s: %s: ", name, code);
    for (; *message; message++)
        (void)fputc((unsigned char)*message < 0x20 || *message == 0x7F ? ' ' : *message, stderr);
    (void)fputc('\n', stderr);
}

static enum status fail(const char *name, const char *code, const char *message)
{
    enum status status = STATUS_UNAVAILABLE;
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (strcmp(statuses[i].code, code) == 0)
            status = statuses[i].status;
    print_failure(name, code, message);
    return status;
}

static enum status fail_as_told(const char *name, struct json_slice error)
{
    struct json_slice part;
    CLEANUP_FREE char *code =
        json_slice_member(error, "code", &part) ? json_slice_text(part) : NULL;
    CLEANUP_FREE char *message =
        json_slice_member(error, "message", &part) ? json_slice_text(part) : NULL;
    bool is_retryable = json_slice_member(error, "retryable", &part) && part.length == 4 &&
                        memcmp(part.at, "true", 4) == 0;
    enum status status =
        fail(name, code ? code : "unavailable", message ? message : "the error cannot be read");
    return is_retryable ? STATUS_RETRY : status;
}

static enum status finish(bool is_written, const char *name)
{
    if (is_written)
        return STATUS_DONE;
    print_failure(name, "output", strerror(errno));
    return STATUS_OUTPUT;
}

/* JSON has a line of its own; texts and bytes are as they are. */
static enum status print_reply(const char *name, const struct tool_reply *reply)
{
    unsigned char *bytes = reply->bytes;
    size_t length = reply->length;
    if (reply->form == TOOL_ANSWER_ERROR)
        return fail_as_told(name, (struct json_slice){(const char *)bytes, length});
    if (reply->form == TOOL_ANSWER_BYTES) {
        size_t type = length > 0 && length > bytes[0] ? 1U + bytes[0] : length;
        bytes += type;
        length -= type;
    }
    if (reply->form == TOOL_ANSWER_JSON || reply->form == TOOL_ANSWER_CONTENT)
        bytes[length++] = '\n'; /* by one write: other calls may have the same output */
    return finish(write_fully(STDOUT_FILENO, bytes, length), name);
}

/* At most one byte more than may be. false with errno. */
static bool read_input(char **ret, size_t *ret_length)
{
    size_t length = 0;
    CLEANUP_FREE char *bytes = malloc(TOOL_ARGUMENTS_LIMIT + 1);
    while (bytes && length <= TOOL_ARGUMENTS_LIMIT) {
        ssize_t count = read(STDIN_FILENO, bytes + length, TOOL_ARGUMENTS_LIMIT + 1 - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        if (count == 0)
            break;
        length += (size_t)count;
    }
    if (!bytes)
        return false;
    *ret = TAKE_POINTER(bytes);
    *ret_length = length;
    return true;
}

static enum status call(const char *name, const char *arguments, size_t length)
{
    if (strlen(name) > TOOL_NAME_LIMIT)
        return fail(name, "unknown_tool", "no tool has such a name");
    if (length > TOOL_ARGUMENTS_LIMIT)
        return fail(name, "limit_exceeded", "the arguments have more than 1 MiB");
    struct tool_reply reply = {.length = 0};
    /* The end of the gateway's is an error here; that of whoever reads the output is as usual. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    const char *problem = tool_channel_call(name, arguments, length, &reply);
    (void)signal(SIGPIPE, before);
    if (problem)
        return fail(name, "unavailable", problem);
    enum status status = print_reply(name, &reply);
    free(reply.frame);
    return status;
}

static enum status call_with_input(const char *name)
{
    size_t length = 0;
    CLEANUP_FREE char *input = NULL;
    if (!read_input(&input, &length))
        return fail(name, "invalid_arguments", strerror(errno));
    return call(name, input, length);
}

static enum status print_of_listing(const char *option, char *const *words,
                                    struct json_slice listing)
{
    if (strcmp(option, "--names") == 0)
        tool_listing_print_names(listing);
    else if (strcmp(option, "--search") == 0 && !tool_listing_search(listing, words))
        return fail(option, "unavailable", "no memory");
    else if (strcmp(option, "--describe") == 0 && !tool_listing_describe(listing, words[0]))
        return fail(words[0], "unknown_tool", "the run has no tool of that name");
    return finish(fflush(stdout) == 0, option);
}

static enum status tell(const char *option, char *const *words)
{
    struct tool_reply reply = {.length = 0};
    const char *problem = tool_channel_listing(&reply);
    if (problem)
        return fail(option, "unavailable", problem);
    const struct json_slice told = {(const char *)reply.bytes, reply.length};
    enum status status = reply.form == TOOL_ANSWER_ERROR ? fail_as_told(option, told)
                                                         : print_of_listing(option, words, told);
    free(reply.frame);
    return status;
}

/* The name, and what may be behind it. */
static enum status call_by(char *const *words, size_t count)
{
    if (count == 0 || words[0][0] == '\0')
        return refuse_use("the name of a tool is missing");
    if (count > 2)
        return refuse_use("the arguments of a call are one JSON object, in quotes");
    if (count == 2 && strcmp(words[1], "-") == 0)
        return call_with_input(words[0]);
    const char *arguments = count == 2 ? words[1] : "{}";
    return call(words[0], arguments, strlen(arguments));
}

int tool_command(int count, char **words)
{
    const char *first = count > 1 ? words[1] : "";
    if (strcmp(first, "--help") == 0)
        return (int)finish(fputs(usage, stdout) != EOF && fflush(stdout) == 0, first);
    if ((count == 2 && strcmp(first, "--names") == 0) ||
        (count == 3 && strcmp(first, "--describe") == 0) ||
        (count > 2 && strcmp(first, "--search") == 0))
        return (int)tell(first, &words[2]);
    if (first[0] == '-' && strcmp(first, "--") != 0)
        return (int)refuse_use("there is no such option, or a word of it is missing");
    size_t own = first[0] == '-' ? 2 : 1;
    return (int)call_by(&words[own], (size_t)count > own ? (size_t)count - own : 0);
}
