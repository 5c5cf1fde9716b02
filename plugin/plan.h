/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request and a policy to the description that a backend gets: how the language is run, with
 * which limits, environment and files. Decides nothing about permission but what is a matter of
 * limits and languages. Pure code, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "call.h"

/* Fills call->language, call->description (without secrets) and the output limits. false with
 * LANGUAGE_NOT_ALLOWED, LIMIT_TOO_HIGH, INVALID_INPUT (a file named as the program is, a
 * variable that no shell would set), INVALID_POLICY (the same of the policy's),
 * NOT_SUPPORTED or OUT_OF_MEMORY. */
bool plan_run(struct call *call, struct error *error);

/* The mode in which a program's text is read: never none. */
enum sandbox_mode plan_checking_mode(enum sandbox_mode mode);
/* A description that runs a program of ours as the language's, in the sandbox that the call's would
 * get, without network, workspace and anything else of the request, with place for that many files.
 * false when out of memory; what *ret holds is the caller's either way. */
bool plan_content_check(const struct call *call, size_t file_limit, struct run_description *ret);
/* A description of a command of the operator's, without a sandbox, for process mode's backend.
 * false when out of memory; what *ret holds is the caller's either way. */
bool plan_content_command(const struct call *call, struct run_description *ret);
/* Adds a file, where there is place for it. false when out of memory. */
bool plan_add_file(struct run_description *description, const char *path, const void *content,
                   size_t length);

/* What a trial is to find out about. All borrowed. */
struct trial_subject {
    const struct policy *policy;
    enum sandbox_mode mode;
    const struct policy_language *language; /* NULL: the layers alone, with "sh" as the program */
    const char *image;                      /* docker mode; NULL: there is none */
    bool network;
    enum run_pull pull;    /* docker mode */
    const char *workspace; /* NULL: there is none */
    struct directory_id workspace_id;
};

/* A description that applies every layer and looks the language's program up, and runs nothing.
 * true and *ret (run_description_clear()), or false when out of memory. */
bool plan_trial(const struct trial_subject *subject, struct run_description *ret);
/* A description that has runs like those of a program that names that word (NULL: none) prepared,
 * and runs nothing. As plan_trial(). */
bool plan_preparation(const struct trial_subject *subject, const char *word,
                      struct run_description *ret);
/* The same for removing what dead gateways left behind. */
bool plan_sweep(const struct policy *policy, enum sandbox_mode mode, struct run_description *ret);
