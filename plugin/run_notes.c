/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rules and the words of notes about runs: see run_notes.h. */
#include "run_notes.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "missing_module.h"

#define NAMES_LIMIT 300 /* bytes of a list of modules */

struct note_rule {
    bool (*applies)(const struct run_facts *facts);
    void (*write)(const struct run_facts *facts, char text[RUN_NOTE_LIMIT]);
    const char *timeout_hint;
};

/* Names as far as they fit. */
static void join_names(char *const *names, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (; names && *names && length + 1 < size; names++) {
        int added = snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", *names);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* The error says so itself where it was the program that was killed. */
static bool child_was_killed_for_memory(const struct run_facts *facts)
{
    return facts->memory_kills > 0 && facts->memory_kills != RUN_USAGE_UNKNOWN &&
           facts->cause != RUN_CAUSE_MEMORY_LIMIT;
}

static void write_memory_kills(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    if (facts->memory_kills == 1)
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "a process of the run was killed because the memory limit of %llu bytes "
                       "was reached; the program went on without it",
                       (unsigned long long)facts->memory_bytes);
    else
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "%llu processes of the run were killed because the memory limit of %llu "
                       "bytes was reached; the program went on without them",
                       (unsigned long long)facts->memory_kills,
                       (unsigned long long)facts->memory_bytes);
}

static bool module_is_missing(const struct run_facts *facts)
{
    char name[MISSING_MODULE_LIMIT + 1];
    return facts->exit_code > 0 && missing_module_find(facts->language, facts->errors.text, name);
}

static void write_missing_module(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    char name[MISSING_MODULE_LIMIT + 1] = "";
    char there[NAMES_LIMIT];
    (void)missing_module_find(facts->language, facts->errors.text, name);
    join_names(facts->modules, there, sizeof(there));
    if (there[0])
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "%s is not installed, and a run installs nothing; there are: %s", name,
                       there);
    else
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "%s is not installed, and a run installs nothing: do without it, or ask "
                       "the operator for it",
                       name);
}

static const struct note_rule rules[] = {
    {child_was_killed_for_memory, write_memory_kills,
     "use less memory, or fewer processes at a time: one was killed for memory, and the program "
     "may have waited for it until its time was up"},
    {module_is_missing, write_missing_module, NULL},
};

void run_words_take(const char *text, size_t length, struct run_words *ret)
{
    size_t kept = length < sizeof(ret->text) ? length : sizeof(ret->text) - 1;
    if (kept > 0)
        memcpy(ret->text, text + length - kept, kept);
    ret->text[kept] = '\0';
    for (char *nul = ret->text; (nul = memchr(nul, '\0', (size_t)(ret->text + kept - nul)));)
        *nul = ' ';
}

size_t run_note_rules(void)
{
    return COUNT_OF(rules);
}

bool run_note_make(size_t rule, const struct run_facts *facts, struct run_note *ret)
{
    if (!rules[rule].applies(facts))
        return false;
    rules[rule].write(facts, ret->text);
    ret->timeout_hint = rules[rule].timeout_hint;
    return true;
}
