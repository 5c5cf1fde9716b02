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
 * LANGUAGE_NOT_ALLOWED, LIMIT_TOO_HIGH, INVALID_INPUT (a file named as the program is),
 * NOT_SUPPORTED or OUT_OF_MEMORY. */
bool plan_run(struct call *call, struct error *error);

/* What a trial is to find out about. All borrowed. */
struct trial_subject {
    const struct policy *policy;
    enum sandbox_mode mode;
    const struct policy_language *language; /* NULL: the layers alone, with "sh" as the program */
    const char *image;                      /* docker mode; NULL: there is none */
    bool network;
    enum run_pull pull; /* docker mode */
};

/* A description that applies every layer and looks the language's program up, and runs nothing.
 * true and *ret (run_description_clear()), or false when out of memory. */
bool plan_trial(const struct trial_subject *subject, struct run_description *ret);
/* The same for removing what dead gateways left behind. */
bool plan_sweep(const struct policy *policy, enum sandbox_mode mode, struct run_description *ret);
