/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about a run that has ended, which saves an agent a second failure. One table of rules,
 * each tried against the facts of the run. Some rules search the output for words, which a program
 * can print at will. So a note decides nothing, and states only facts that hold for every run of
 * this kind. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/run_event.h"

#define RUN_NOTE_LIMIT       512  /* bytes of a note, with its NUL */
#define RUN_OUTPUT_LIMIT     4096 /* bytes of each stream that the rules look at, with a NUL */
#define MISSING_MODULE_LIMIT 64   /* bytes of a library's name */

/* The last part of a stream as one text: a NUL byte is a space there. */
struct run_words {
    char text[RUN_OUTPUT_LIMIT];
};

/* Borrowed, all of it. */
struct run_facts {
    const char *language; /* canonical name */
    char *const *modules; /* installed beyond the standard library, as the policy has them */
    /* That the request could name in "packages": lines "NAME (language): description", as the
     * variable CODE_EXECUTE_PACKAGES has them. NULL: none. */
    char *const *environments;
    const char *code; /* of code_length bytes, and a NUL behind them */
    size_t code_length;
    char *const *arguments;
    enum run_cause cause;
    int exit_code;         /* -1: did not exit by itself */
    bool has_network;      /* beyond the sandbox; without it there are no internet sockets either */
    bool is_unprivileged;  /* no /tmp of its own, and no sockets but connected pairs */
    uint64_t memory_bytes; /* the limit; 0: none */
    bool memory_is_refused;  /* a process gets an error beyond the limit, and is not killed */
    uint64_t memory_kills;   /* or RUN_USAGE_UNKNOWN */
    uint64_t file_bytes;     /* the limit; 0: none */
    struct run_words output; /* standard output and error, secrets redacted */
    struct run_words errors;
};

struct run_note {
    char text[RUN_NOTE_LIMIT];
    const char *timeout_hint; /* what to do about a timeout that the note explains; NULL: nothing */
};

/* text: NULL with length 0. */
void run_words_take(const char *text, size_t length, struct run_words *ret);

size_t run_note_rules(void);
/* The note of one rule; false and *ret untouched where it does not apply. rule < run_note_rules()
 */
bool run_note_make(size_t rule, const struct run_facts *facts, struct run_note *ret);

/* Some of the rules look closer; this is for them and for their tests. */

/* The name of the library whose absence the standard error complains about in its interpreter's
 * words: nothing that an agent prints or installs will change that. false where it is about
 * something else, or the name is none that a library could have. */
bool missing_module_find(const char *language, const char *errors,
                         char ret_name[MISSING_MODULE_LIMIT + 1]);

/* The names of the environments of that language, with commas between them as far as they fit; of
 * those alone whose description has the module's word, where module is not NULL. Libraries that are
 * imported by another name than they are installed by are found by that. "": there is none. */
void environments_name(char *const *environments, const char *language, const char *module,
                       char *ret, size_t size);
