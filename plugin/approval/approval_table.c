/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of approval requests: see approval_table.h. Runs in the gateway, under the lock of
 * approval.c. */
#include "approval/approval_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "host/host.h"

static struct approval_entry *table;

void approval_entry_remove(struct approval_entry *entry)
{
    struct approval_entry **place = &table;
    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    free(entry->outcome.arguments);
    free(entry);
}

void approval_table_expire(void)
{
    uint64_t now = monotonic_ms();
    for (struct approval_entry *entry = table, *next = NULL; entry; entry = next) {
        next = entry->next;
        if (!entry->waited_for && entry->expires_ms <= now)
            approval_entry_remove(entry);
    }
}

static bool random_identity(uint64_t *ret_token, char id[APPROVAL_ID_LENGTH + 1])
{
    unsigned char bytes[APPROVAL_ID_LENGTH / 2];
    if (!token_make(TOKEN_OF_APPROVAL, ret_token) ||
        getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    hex_text(bytes, sizeof(bytes), id);
    return true;
}

static bool has_a_call(const struct approval_entry *entry)
{
    return entry->waited_for;
}

static bool is_request(const struct approval_entry *entry)
{
    return entry->state != APPROVAL_ENTRY_STANDING;
}

/* The number of such entries: of that principal, or with NULL of all. */
static uint64_t count_entries(bool (*is_such)(const struct approval_entry *),
                              const char *principal_sha256)
{
    uint64_t count = 0;
    for (const struct approval_entry *entry = table; entry; entry = entry->next)
        count += is_such(entry) &&
                 (!principal_sha256 || strcmp(entry->principal_sha256, principal_sha256) == 0);
    return count;
}

/* A principal with many questions leaves room for later ones of others. */
static bool check_waiting(const struct approval_question *question, const char *principal_sha256,
                          struct error *error)
{
    uint64_t waiting = count_entries(has_a_call, NULL);
    uint64_t own = count_entries(has_a_call, principal_sha256);
    if (waiting + own < question->max_waiting)
        return true;
    error_set(error, ERROR_TOO_MANY_REQUESTS,
              "%llu calls wait for approval, %llu of them this caller's; the policy allows %llu",
              (unsigned long long)waiting, (unsigned long long)own,
              (unsigned long long)question->max_waiting);
    error_set_hint(error, "call again when some of them have been answered");
    return false;
}

/* So does a principal that leaves pending questions behind. */
static bool check_requests(const char *principal_sha256, struct error *error)
{
    uint64_t kept = count_entries(is_request, NULL);
    uint64_t own = count_entries(is_request, principal_sha256);
    if (kept + own < APPROVAL_REQUESTS_LIMIT)
        return true;
    error_set(error, ERROR_TOO_MANY_REQUESTS,
              "%llu approval requests are kept, %llu of them this caller's; there is room for %d",
              (unsigned long long)kept, (unsigned long long)own, APPROVAL_REQUESTS_LIMIT);
    error_set_hint(error,
                   "repeat calls whose requests have been answered, or wait until some expire");
    return false;
}

struct approval_entry *approval_entry_add(const struct approval_question *question,
                                          const struct approval_asker *asker, struct error *error)
{
    if (!check_waiting(question, asker->principal_sha256, error) ||
        !check_requests(asker->principal_sha256, error))
        return NULL;
    struct approval_entry *entry = calloc(1, sizeof(*entry));
    if (!entry) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the approval request");
        return NULL;
    }
    if (!random_identity(&entry->token, entry->outcome.id)) {
        free(entry);
        error_set(error, ERROR_APPROVAL_UNAVAILABLE, "no random number for the approval request");
        return NULL;
    }
    (void)snprintf(entry->request_sha256, sizeof(entry->request_sha256), "%s",
                   question->request_sha256);
    memcpy(entry->principal_sha256, asker->principal_sha256, sizeof(entry->principal_sha256));
    memcpy(entry->session_sha256, asker->session_sha256, sizeof(entry->session_sha256));
    entry->answers = question->answers | APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_DENY) |
                     APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_CANCEL) |
                     APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_UNAVAILABLE);
    entry->waited_for = true;
    entry->expires_ms = monotonic_ms() + question->timeout_ms;
    entry->next = table;
    table = entry;
    return entry;
}

void approval_table_limit_grants(void)
{
    size_t count = 0;
    struct approval_entry *first = NULL;
    for (struct approval_entry *entry = table; entry; entry = entry->next) {
        if (entry->state != APPROVAL_ENTRY_STANDING)
            continue;
        first = entry;
        count++;
    }
    if (count > APPROVAL_GRANTS_LIMIT)
        approval_entry_remove(first);
}

struct approval_entry *approval_table_find(uint64_t token)
{
    struct approval_entry *entry = table;
    while (entry && entry->token != token)
        entry = entry->next;
    return entry && entry->expires_ms > monotonic_ms() ? entry : NULL;
}

uint64_t approval_table_waiting(void)
{
    return count_entries(has_a_call, NULL);
}

struct approval_entry *approval_table_first(void)
{
    return table;
}

void approval_table_abandon(void)
{
    table = NULL;
}
