/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the verdict over a probe of the network: see network_probe.h. Runs in the kubernetes
 * backend. */
#include "backends/kubernetes/pod/network_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"

#define NUMBER_LIMIT 4 /* digits of an error's number */

enum outcome {
    OUTCOME_NONE,   /* it is not in the report, or twice */
    OUTCOME_BROKEN, /* none of those that a probe can have */
    OUTCOME_CONNECTED,
    OUTCOME_REFUSED, /* by whoever has that address: an answer too */
    OUTCOME_UNREACHED,
};

/* What a policy makes of a try: no answer at all, no route, or a rejection on the way. A refusal is
 * an answer of the address itself, or of the node in its place, which nobody can tell apart. */
static bool is_unreached(int error_number)
{
    static const int numbers[] = {
        ETIMEDOUT, ENETUNREACH, EHOSTUNREACH, EACCES, EPERM, ENETDOWN, EHOSTDOWN, EPROTO, ENONET,
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (numbers[i] == error_number)
            return true;
    return false;
}

static enum outcome read_outcome(const char *text, size_t length)
{
    char number[NUMBER_LIMIT + 1] = "";
    if (length == strlen("connected") && memcmp(text, "connected", length) == 0)
        return OUTCOME_CONNECTED;
    if (length == strlen("timeout") && memcmp(text, "timeout", length) == 0)
        return OUTCOME_UNREACHED;
    if (length == 0 || length > NUMBER_LIMIT)
        return OUTCOME_BROKEN;
    memcpy(number, text, length);
    if (strspn(number, "0123456789") != length)
        return OUTCOME_BROKEN;
    int error_number = atoi(number); /* digits, and few */
    if (error_number == ECONNREFUSED || error_number == ECONNRESET)
        return OUTCOME_REFUSED;
    return is_unreached(error_number) ? OUTCOME_UNREACHED : OUTCOME_BROKEN;
}

/* Of the one line about it. */
static enum outcome find_outcome(const char *report, size_t length, const char *target)
{
    size_t target_length = strlen(target);
    enum outcome outcome = OUTCOME_NONE;
    size_t found = 0;
    for (size_t begin = 0; begin < length;) {
        const char *line = report + begin;
        const char *newline = memchr(line, '\n', length - begin);
        if (!newline)
            break; /* cut: it counts for nothing */
        size_t line_length = (size_t)(newline - line);
        if (line_length > target_length && line[target_length] == ' ' &&
            memcmp(line, target, target_length) == 0) {
            outcome = read_outcome(line + target_length + 1, line_length - target_length - 1);
            found++;
        }
        begin += line_length + 1;
    }
    return found == 1 ? outcome : OUTCOME_NONE;
}

enum network_proof network_probe_judge(const char *report, size_t length,
                                       const char *const *targets, size_t count, char *why,
                                       size_t size)
{
    enum network_proof proof = NETWORK_CLOSED;
    (void)snprintf(why, size, "%s", "");
    for (size_t i = 0; i < count; i++) {
        enum outcome outcome = find_outcome(report, length, targets[i]);
        if (outcome == OUTCOME_CONNECTED || outcome == OUTCOME_REFUSED) {
            (void)snprintf(why, size, "%s answered", targets[i]);
            return NETWORK_OPEN;
        }
        if (outcome == OUTCOME_UNREACHED || proof != NETWORK_CLOSED)
            continue;
        proof = NETWORK_NOT_PROVEN;
        (void)snprintf(why, size, "%s was not tried", targets[i]);
    }
    if (count == 0 || (proof == NETWORK_CLOSED &&
                       find_outcome(report, length, GUEST_TRY_CONTROL) != OUTCOME_CONNECTED)) {
        (void)snprintf(why, size, "the probe cannot connect at all");
        return NETWORK_NOT_PROVEN;
    }
    return proof;
}
