/* SPDX-License-Identifier: Apache-2.0 */
/* One session of the table: see session_entry.h. Any thread. */
#include "session/session_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/string_list.h"

static const char *const loss_names[SESSION_LOSS_COUNT] = {
#define X(constant, name) name,
    SESSION_LOSSES(X)
#undef X
};

const char *session_loss_name(enum session_loss loss)
{
    return loss_names[loss];
}

enum session_loss session_loss_of(enum run_cause cause)
{
    static const enum session_loss losses[RUN_CAUSE_COUNT] = {
        [RUN_CAUSE_EXIT] = SESSION_LOSS_EXITED,
        [RUN_CAUSE_WALL_TIMEOUT] = SESSION_LOSS_TIMEOUT,
        [RUN_CAUSE_CPU_LIMIT] = SESSION_LOSS_CPU_LIMIT,
        [RUN_CAUSE_MEMORY_LIMIT] = SESSION_LOSS_MEMORY,
        [RUN_CAUSE_OUTPUT_LIMIT] = SESSION_LOSS_OUTPUT_LIMIT,
        [RUN_CAUSE_CANCELLED] = SESSION_LOSS_CANCELLED,
    };
    return losses[cause] == SESSION_LOSS_NONE ? SESSION_LOSS_CRASHED : losses[cause];
}

bool session_same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

void session_forget_secrets(struct session *session)
{
    redaction_free(TAKE_POINTER(session->redaction));
}

static void release_sandbox(struct session_sandbox *sandbox)
{
    if (!sandbox || --sandbox->entries > 0)
        return;
    session_run_close(&sandbox->run);
    broker_run_close(&sandbox->broker_run);
    tool_flow_clear(&sandbox->called);
    free(sandbox);
}

void session_free(struct session *session)
{
    session_forget_secrets(session);
    json_decref(session->secrets);
    string_list_free(session->tools);
    string_list_free(session->endpoints);
    release_sandbox(session->sandbox);
    free(session->principal);
    for (uint32_t i = 0; i < session->language_count; i++)
        free(session->languages[i]);
    free(session->workspace);
    free(session->image);
    package_set_clear(&session->packages);
    free(session->cells_grant);
    json_decref(session->cells);
    free(session);
}

bool session_keep_tools(struct session *session, char *const *tools)
{
    return !tools || !tools[0] ||
           string_list_append_all(&session->tools, (const char *const *)tools);
}

bool session_keep_endpoints(struct session *session, char *const *names)
{
    return !names || !names[0] ||
           string_list_append_all(&session->endpoints, (const char *const *)names);
}

uint32_t session_program_of(const struct session *session, const char *language)
{
    uint32_t number = 0;
    while (number < session->language_count && strcmp(session->languages[number], language) != 0)
        number++;
    return number;
}

uint32_t session_neighbours(const struct session *session)
{
    uint32_t living = session->sandbox->living;
    return living > 0 ? living - 1 : 0;
}

bool session_append_language(struct session *session, const char *language)
{
    char *copy = session->language_count < SESSION_PROGRAMS_MOST ? strdup(language) : NULL;
    if (copy)
        session->languages[session->language_count++] = copy;
    return copy;
}

/* Also where they were built anew since: the session has the old ones. */
static bool has_packages(const struct session *session, const struct package_set *packages)
{
    return session_same_text(session->packages.name, packages->name) &&
           strcmp(session->packages.sha256, packages->sha256) == 0;
}

bool session_fits(const struct session *session, const struct session_terms *terms,
                  struct error *error)
{
    const char *what = NULL;
    if (session->network != terms->network)
        what = "network";
    else if (!session_same_text(session->workspace, terms->workspace))
        what = "workspace";
    else if (terms->asks_image && !session_same_text(session->image, terms->image))
        what = "image";
    else if (terms->asks_packages && !has_packages(session, terms->packages))
        what = "set of packages";
    else if (terms->asks_memory && session->limits.memory_bytes != terms->limits->memory_bytes)
        what = "memory_bytes";
    if (!what)
        return true;
    error_set(error, ERROR_INVALID_INPUT,
              "request: /session: the session was begun with another %s", what);
    error_set_hint(error, "begin another session with \"session\": \"" SESSION_NEW "\"");
    return false;
}

static bool make_id(char ret[SESSION_ID_LENGTH + 1])
{
    unsigned char bytes[(SESSION_ID_LENGTH - 2) / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return false;
    ret[0] = 's';
    ret[1] = '_';
    hex_text(bytes, sizeof(bytes), &ret[2]);
    return true;
}

static bool copy_text(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return !text || *ret;
}

/* NULL: no memory. */
static struct session_sandbox *new_sandbox(void)
{
    struct session_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    if (sandbox)
        *sandbox = (struct session_sandbox){.living = 1,
                                            .branches = 1,
                                            .is_taken = true,
                                            .run = SESSION_RUN_EMPTY,
                                            .broker_run = BROKER_RUN_NONE};
    return sandbox;
}

/* In that sandbox, of which it is one more entry. NULL: no memory. */
static struct session *new_in(struct session_sandbox *sandbox, const struct session_terms *terms)
{
    struct session *session = calloc(1, sizeof(*session));
    if (!session)
        return NULL;
    session->sandbox = sandbox;
    sandbox->entries++;
    session->network = terms->network;
    session->limits = *terms->limits;
    session->is_taken = true;
    session->taken_by = terms->call;
    session->cells = json_array();
    (void)snprintf(session->policy_sha256, sizeof(session->policy_sha256), "%s",
                   terms->policy_sha256);
    if (copy_text(terms->principal, &session->principal) &&
        session_append_language(session, terms->language) &&
        copy_text(terms->workspace, &session->workspace) &&
        copy_text(terms->image, &session->image) &&
        (!terms->packages->name || package_set_copy(terms->packages, &session->packages)) &&
        session->cells && make_id(session->id))
        return session;
    session_free(session);
    return NULL;
}

struct session *session_new(const struct session_terms *terms)
{
    struct session_sandbox *sandbox = new_sandbox();
    if (!sandbox)
        return NULL;
    sandbox->entries++; /* ours, so that it is there until we have seen how it went */
    struct session *session = new_in(sandbox, terms);
    release_sandbox(sandbox);
    return session;
}

struct session *session_new_branch(const struct session *from, const struct session_terms *terms)
{
    struct session *session = new_in(from->sandbox, terms);
    if (!session)
        return NULL;
    session->limits = from->limits;
    memcpy(session->forked_from, from->id, sizeof(from->id));
    if (session_keep_tools(session, from->tools) &&
        session_keep_endpoints(session, from->endpoints) && session_copy_history(session, from))
        return session;
    session_free(session);
    return NULL;
}
