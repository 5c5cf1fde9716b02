/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders for backends: the parts of a run's description that come from the policy, whether an
 * interpreter that was started before the run was known can serve it, and whole descriptions that
 * run nothing of a caller's (trials, preparations, sweeps). Functions that return bool are false
 * when out of memory; the description's owner frees it then too (run_description_clear()). Pure
 * code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"
#include "protocol/run_description.h"
#include "request/request.h"
#include "vocabulary/sandbox_mode.h"

/* The members that do not depend on the request; language NULL: none. */
bool describe_common(const struct policy *policy, enum sandbox_mode mode,
                     const struct policy_language *language, bool network,
                     struct run_description *ret);
/* A copy of the text; NULL is the empty one. */
bool describe_text(const char *text, char **ret);
/* The image of that name; nothing in modes without images. */
bool describe_image(const struct policy *policy, enum sandbox_mode mode, const char *name,
                    struct run_image *ret);
/* The place of a limit of the table, which has one. */
uint64_t *describe_limit(struct run_limits *of, const struct policy_limit_row *row);
/* The defaults. */
void describe_limits(const struct policy_limits *limits, struct run_limits *ret);
/* The language's command, or the one that its image wants; borrowed from the policy. */
char *const *describe_command_of(const struct policy *policy, enum sandbox_mode mode,
                                 const struct policy_language *language);
/* Adds the command; file: the program that it runs. */
bool describe_command(struct run_description *description, char *const *command, const char *file);
bool describe_file(const char *path, const void *content, size_t length, struct run_file *ret);
/* Adds a file, where there is place for it. false when out of memory. */
bool describe_add_file(struct run_description *description, const char *path, const void *content,
                       size_t length);

/* Fills in how the language's interpreter is kept ready; nothing where the policy keeps none, where
 * the request has a variable that an interpreter reads at its start, or replaces one that it has.
 * The description holds the policy's variables and the language's arguments so far, and no others;
 * one of them is the program's file. false: no memory. */
bool preparation_fill(const struct policy_preparation *preparation, const struct request *request,
                      const char *program, struct run_description *description);

/* The subject of a trial. All borrowed. */
struct trial_subject {
    const struct policy *policy;
    enum sandbox_mode mode;
    const struct policy_language *language; /* NULL: the layers alone, with "sh" as the program */
    const char *image;                      /* NULL: there is none */
    bool network;
    bool endpoints;        /* the program reaches some */
    enum run_pull pull;    /* of the image */
    const char *workspace; /* NULL: there is none */
    struct directory_id workspace_id;
};

/* The program reaches endpoints, or does not run. */
void describe_endpoints(struct run_description *ret);
/* A description that applies every layer and looks the language's program up, and runs nothing.
 * true and *ret (run_description_clear()), or false when out of memory. */
bool describe_trial(const struct trial_subject *subject, struct run_description *ret);
/* A description that has runs like those of a program that names that word (NULL: none) prepared,
 * and runs nothing. As describe_trial(). */
bool describe_preparation(const struct trial_subject *subject, const char *word,
                          struct run_description *ret);
/* The same for removing what dead gateways left behind. */
bool describe_sweep(const struct policy *policy, enum sandbox_mode mode,
                    struct run_description *ret);
