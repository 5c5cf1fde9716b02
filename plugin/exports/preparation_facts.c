/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the question and the words for its answer: see prepare_query.h. Runs in the gateway, on
 * the thread inside tool_prepare(). */
#include "exports/prepare_query.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/utf8.h"
#include "run/readiness.h"

#define LIMIT_MS 60000
#define PAUSE_MS 50

/* One kind of programs: those that name no module, or those that have a word. */
struct kind {
    const char *word; /* NULL: none */
    struct preparation_outcome outcome;
};

#define COPIED  "copied"
#define STARTED "started_ahead"    /* in each sandbox, before its run is there */
#define LATE    "started_with_run" /* as without any preparation */

static const struct {
    const char *how;
    const char *message; /* the detail comes behind it */
    const char *remedy;
} words_for[PREPARATION_COUNT] = {
    [PREPARATION_NONE] =
        {LATE, "nothing is kept ready for such programs",
         "the policy's \"pools\" say how many wait; an \"argv\" with options of the "
         "interpreter's own has none"},
    [PREPARATION_OPEN] = {"unknown", "it is not known after a minute",
                          "ask again when the machine is less busy"},
    [PREPARATION_COPIED] = {COPIED, NULL, NULL},
    [PREPARATION_COPIED_WITHOUT] =
        {COPIED,
         "modules with a random number generator that cannot be seeded anew in each copy are "
         "left out: ",
         "take them out of the policy's \"prepare\", or set its \"fork\" to false; a program that "
         "imports them works in both cases"},
    [PREPARATION_BY_POLICY] = {STARTED, "the policy's \"prepare\" has \"fork\": false",
                               "set it to true, or leave it out"},
    [PREPARATION_HOME_ON_HOST] = {STARTED,
                                  "the machine has a directory that is the programs' own in a "
                                  "sandbox: ",
                                  "remove or rename it"},
    [PREPARATION_OWNED_BY_PROGRAM] =
        {STARTED,
         "outside of their sandbox, programs would be the gateway's user and could change the "
         "interpreter's file",
         "give the policy's \"outer_uids\" a range that the gateway's user namespace has "
         "(/proc/self/uid_map)"},
    [PREPARATION_VARIABLE] = {STARTED,
                              "the policy sets a variable that may have the interpreter execute "
                              "something: ",
                              "take it out of the policy's \"environment\""},
    [PREPARATION_PATH] =
        {STARTED, "other users can change a file that the interpreter executes or imports: ",
         "chown root: and chmod go-w it, and check its directory"},
    [PREPARATION_NO_PROGRAM] = {STARTED, "a script is in the interpreter's place: ",
                                "name the directory of the interpreter itself in \"runtime_path\""},
    [PREPARATION_OTHER_PROGRAM] = {STARTED,
                                   "the policy's PATH does not lead to the interpreter that is "
                                   "executed: ",
                                   "let \"runtime_path\" and PATH name the same directories"},
    [PREPARATION_THREADS] = {STARTED, "its modules have started a thread",
                             "take the module that does out of \"import\""},
    [PREPARATION_MODULE] = {STARTED,
                            "a module comes from outside of the interpreter's own directories: ",
                            "install it below one of these, or take it out of \"import\""},
    [PREPARATION_GENERATORS] =
        {STARTED,
         "a module that the interpreter imports at its own start holds a random number generator "
         "that cannot be seeded anew",
         "look for it in the .pth files and in sitecustomize"},
    [PREPARATION_TWIN] = {STARTED,
                          "its modules could not be imported a second time, which would show the "
                          "generators that were seeded on purpose",
                          "take the module that takes long or fails out of \"import\""},
    [PREPARATION_MODULES_DO_MORE] =
        {STARTED, "its modules do more than to be imported, and stay in sandboxes: ",
         "none is needed: an interpreter that has imported them waits in "
         "each sandbox instead"},
    [PREPARATION_FILE_READ] = {STARTED, "the import reads a file that other users can change: ",
                               "chown root: and chmod go-w it"},
    [PREPARATION_TRIAL] = {STARTED, "the import of its modules could not be tried in a sandbox",
                           "import them in a program; more memory or time may be needed"},
    [PREPARATION_NO_FILES] = {LATE,
                              "the directory \"interpreter\" beside the library is missing or "
                              "incomplete",
                              "install code-execute again"},
    [PREPARATION_FAILED] =
        {LATE, "it ended each time before it could wait",
         "run a program and read the interpreter's messages in its standard error"},
};

static const char *how(uint32_t kind)
{
    return words_for[kind].how;
}

/* The message with its detail, NULL where there is nothing to say; the caller's. */
static char *message_of(const struct preparation_outcome *outcome)
{
    const char *message = words_for[outcome->kind].message;
    char detail[PREPARATION_DETAIL];
    char *text = NULL;
    size_t length = 0;
    bool replaced = false;
    memcpy(detail, outcome->detail, sizeof(detail));
    utf8_end_whole(detail);
    if (!message || asprintf(&text, "%s%s", message, detail) < 0)
        return NULL;
    CLEANUP_FREE char *owned = text;
    return utf8_sanitize((const unsigned char *)owned, strlen(owned), &length, &replaced);
}

static json_t *kind_json(const struct kind *kind)
{
    enum preparation_kind outcome = (enum preparation_kind)kind->outcome.kind;
    CLEANUP_FREE char *message = message_of(&kind->outcome);
    return json_pack("{s:s?, s:s, s:s, s:s?, s:s?}", "word", kind->word, "how", how(outcome),
                     "code", preparation_name(outcome), "message", message, "remedy",
                     words_for[outcome].remedy);
}

/* false: the backend did not answer. */
static bool ask_backend(const struct trial_subject *subject, struct kind *kind)
{
    struct run_event ended;
    struct error error;
    if (!readiness_prepare(subject, kind->word, &ended, &error))
        return false;
    preparation_set(&kind->outcome, (enum preparation_kind)ended.preparation, ended.message);
    return true;
}

/* All are prepared at once. */
static bool await_outcomes(const struct trial_subject *subject, struct kind *kinds, size_t count,
                           uint64_t deadline)
{
    for (;;) {
        bool open = false;
        for (size_t i = 0; i < count; i++) {
            if (kinds[i].outcome.kind == PREPARATION_OPEN && !ask_backend(subject, &kinds[i]))
                return false;
            open = open || kinds[i].outcome.kind == PREPARATION_OPEN;
        }
        if (!open || monotonic_ms() >= deadline)
            return true;
        (void)poll(NULL, 0, PAUSE_MS);
    }
}

/* A reason against copying the plain interpreter applies to the others too, before their modules
 * matter. */
static bool find_out(const struct trial_subject *subject, struct kind *kinds, size_t count)
{
    uint64_t deadline = monotonic_ms() + LIMIT_MS;
    if (!await_outcomes(subject, kinds, 1, deadline))
        return false;
    if (strcmp(how(kinds[0].outcome.kind), COPIED) == 0)
        return await_outcomes(subject, kinds + 1, count - 1, deadline);
    for (size_t i = 1; i < count; i++)
        kinds[i].outcome = kinds[0].outcome;
    return true;
}

json_t *preparation_facts(const struct trial_subject *subject)
{
    const struct policy_preparation *preparation = &subject->language->preparation;
    size_t count = 1 + preparation->named_count;
    if (!sandbox_mode_row(subject->mode)->prepares_interpreter ||
        preparation->interpreter != RUN_INTERPRETER_PYTHON)
        return json_null();
    CLEANUP_FREE struct kind *kinds = calloc(count, sizeof(*kinds));
    json_auto_t *list = json_array();
    if (!kinds)
        return NULL;
    for (size_t i = 0; i < count; i++)
        kinds[i] = (struct kind){
            .word = i > 0 ? preparation->named[i - 1].word : NULL,
            .outcome.kind = PREPARATION_OPEN,
        };
    if (!find_out(subject, kinds, count))
        return json_null();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, kind_json(&kinds[i])) != 0)
            return NULL;
    return TAKE_POINTER(list);
}
