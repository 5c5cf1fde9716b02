/* SPDX-License-Identifier: Apache-2.0 */
/* The table of open tokens: see tool_inbox.h. Runs in the gateway, on any thread. */
#include "tools/tool_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "tool_provider.h"

struct open_token {
    struct open_token *next;
    struct tool_inbox *inbox;
    uint64_t token;
    enum token_kind kind;
    size_t limit;
};

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct open_token *table;

bool tool_inbox_open(struct tool_inbox *ret, struct error *error)
{
    *ret = (struct tool_inbox){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    ret->end = &ret->first;
    if (ret->wake_fd >= 0)
        return true;
    error_set_errno(error, ERROR_INTERNAL, errno, "cannot create an event descriptor for tools");
    return false;
}

/* Called with the mutex held. The place in the table, whose pointer is NULL where there is none. */
static struct open_token **find(uint64_t token)
{
    struct open_token **place = &table;
    while (*place && (*place)->token != token)
        place = &(*place)->next;
    return place;
}

/* Called with the mutex held. */
static void remove_at(struct open_token **place)
{
    struct open_token *removed = *place;
    *place = removed->next;
    free(removed);
}

void tool_inbox_close(struct tool_inbox *inbox)
{
    if (inbox->wake_fd < 0)
        return;
    {
        HOLD_LOCK(table_mutex);
        for (struct open_token **place = &table; *place;) {
            if ((*place)->inbox == inbox)
                remove_at(place);
            else
                place = &(*place)->next;
        }
    }
    for (struct tool_inbox_answer *answer = tool_inbox_take(inbox); answer;
         answer = tool_inbox_take(inbox))
        tool_inbox_answer_free(answer);
    close_fd(TAKE_FD(inbox->wake_fd));
}

bool tool_inbox_expect(struct tool_inbox *inbox, enum token_kind kind, size_t limit,
                       uint64_t *ret_token)
{
    struct open_token *entry = malloc(sizeof(*entry));
    if (!entry)
        return false;
    *entry = (struct open_token){.inbox = inbox, .kind = kind, .limit = limit};
    HOLD_LOCK(table_mutex);
    do {
        if (!token_make(kind, &entry->token)) {
            free(entry);
            return false;
        }
    } while (*find(entry->token));
    entry->next = table;
    table = entry;
    *ret_token = entry->token;
    return true;
}

bool tool_inbox_forget(struct tool_inbox *inbox, uint64_t token)
{
    HOLD_LOCK(table_mutex);
    struct open_token **place = find(token);
    if (!*place || (*place)->inbox != inbox)
        return false;
    remove_at(place);
    return true;
}

struct tool_inbox_answer *tool_inbox_take(struct tool_inbox *inbox)
{
    HOLD_LOCK(table_mutex);
    struct tool_inbox_answer *answer = inbox->first;
    if (!answer)
        return NULL;
    inbox->first = answer->next;
    if (!inbox->first) {
        eventfd_t count;
        inbox->end = &inbox->first;
        (void)eventfd_read(inbox->wake_fd, &count);
    }
    return answer;
}

void tool_inbox_answer_free(struct tool_inbox_answer *answer)
{
    if (!answer)
        return;
    explicit_bzero(answer->bytes, answer->length);
    free(answer);
}

/* How long an answer to it may be; false: it is unknown. */
static bool is_open(enum token_kind kind, uint64_t token, size_t *ret_limit)
{
    HOLD_LOCK(table_mutex);
    const struct open_token *entry = *find(token);
    if (!entry || entry->kind != kind)
        return false;
    *ret_limit = entry->limit;
    return true;
}

int32_t tool_inbox_reply(enum token_kind kind, uint64_t token, const char *bytes, size_t length)
{
    size_t limit = 0;
    if (!is_open(kind, token, &limit))
        return TOOL_UNKNOWN;
    bool is_valid = bytes && length > 0 && length <= limit;
    size_t taken = is_valid ? length : 0;
    struct tool_inbox_answer *answer = malloc(sizeof(*answer) + taken + 1);
    if (!answer)
        return TOOL_INVALID; /* its deadline ends the call */
    *answer = (struct tool_inbox_answer){.token = token, .kind = kind, .length = taken};
    if (taken > 0)
        memcpy(answer->bytes, bytes, taken);
    answer->bytes[taken] = '\0';
    /* The copy is made without the lock, so another answer may have come first. */
    HOLD_LOCK(table_mutex);
    struct open_token **place = find(token);
    if (!*place || (*place)->kind != kind) {
        tool_inbox_answer_free(answer);
        return TOOL_UNKNOWN;
    }
    struct tool_inbox *inbox = (*place)->inbox;
    remove_at(place);
    *inbox->end = answer;
    inbox->end = &answer->next;
    (void)eventfd_write(inbox->wake_fd, 1);
    return is_valid ? TOOL_ACCEPTED : TOOL_INVALID;
}

void tool_inbox_after_fork(void)
{
    table_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    table = NULL;
}
