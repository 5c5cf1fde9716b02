/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the search for the end mark and the reading of the engine's report: see container_end.h. */
#include "backends/docker/container/container_end.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define MARK_FIRST  '\004'
#define SIGNAL_BASE 128

void end_mark_make(const uint64_t random[2], char mark[END_MARK_LINE + 1])
{
    (void)snprintf(mark, END_MARK_LINE + 1, "%c%016" PRIx64 "%016" PRIx64 "\n", MARK_FIRST,
                   random[0], random[1]);
}

/* Goes on with a mark that has begun. Its first byte is nowhere else in it, so no other mark can
 * have begun inside. */
static size_t match_mark(struct end_mark_reader *reader, const char *mark,
                         const unsigned char *bytes, size_t length, const unsigned char **ret_piece,
                         size_t *ret_length)
{
    size_t taken = 0;
    while (taken < length && reader->matched < END_MARK_LENGTH &&
           bytes[taken] == (unsigned char)mark[reader->matched]) {
        reader->matched++;
        taken++;
    }
    if (reader->matched == END_MARK_LENGTH) {
        reader->found = true;
        reader->matched = 0;
    } else if (taken < length) {
        *ret_piece = (const unsigned char *)mark;
        *ret_length = end_mark_rest(reader);
    }
    return taken;
}

size_t end_mark_next(struct end_mark_reader *reader, const char *mark, const unsigned char *bytes,
                     size_t length, const unsigned char **ret_piece, size_t *ret_length)
{
    *ret_piece = bytes;
    *ret_length = 0;
    if (reader->found)
        return length;
    if (reader->matched > 0)
        return match_mark(reader, mark, bytes, length, ret_piece, ret_length);
    const unsigned char *first = memchr(bytes, MARK_FIRST, length);
    if (first == bytes && length > 0) {
        reader->matched = 1;
        return 1;
    }
    *ret_length = first ? (size_t)(first - bytes) : length;
    return *ret_length;
}

size_t end_mark_rest(struct end_mark_reader *reader)
{
    size_t rest = reader->matched;
    reader->matched = 0;
    return rest;
}

/* Signals that the kernel or a killer sends. A program that exits with the number of another one
 * (130 after an interrupt) has more likely chosen that status itself. */
static const int fatal_signals[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,  SIGKILL,
                                    SIGSEGV, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS};

static int signal_of(int64_t status)
{
    for (size_t i = 0; i < COUNT_OF(fatal_signals); i++)
        if (status == SIGNAL_BASE + fatal_signals[i])
            return fatal_signals[i];
    return 0;
}

static enum run_cause cause_of(const struct container_end *end, int signal)
{
    if (end->memory_killed && end->status != 0)
        return RUN_CAUSE_MEMORY_LIMIT;
    switch (signal) {
    case 0:
        return RUN_CAUSE_EXIT;
    case SIGXCPU:
        return RUN_CAUSE_CPU_LIMIT;
    case SIGXFSZ:
        return RUN_CAUSE_FILE_LIMIT;
    case SIGSYS:
        return RUN_CAUSE_FORBIDDEN_SYSCALL;
    default:
        return RUN_CAUSE_SIGNAL;
    }
}

void container_cause_decide(const struct container_end *end, struct run_event *event)
{
    event->signal = signal_of(end->status);
    event->exit_code = event->signal ? -1 : (int32_t)(end->status & 0xff);
    event->cause = cause_of(end, event->signal);
}
