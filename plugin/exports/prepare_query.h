/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration of tool_prepare() that asks instead of configuring: "check" examines a policy,
 * "explain" says what would happen to a request under it, "counters" returns the counters, "offer"
 * the input schema for a host with these grants, "environments" about the sets of packages, which
 * it also builds, "system_packages" what interpreters of the machine have. The configuration in
 * force stays. "interpreters" asks each interpreter for its version in a sandbox; but for that and
 * builds nothing is started. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/configuration.h"
#include "run/describe.h"

/* Is it one? Decided by its members alone. */
bool prepare_query_is_one(const char *config_json);

/* A new JSON text, NULL when out of memory. *ret_answered: false where the configuration was
 * refused, and "error" in the text says why. */
char *prepare_query_answer(const char *config_json, bool *ret_answered);

/* A hypothetical request; all borrowed. */
struct explanation_subject {
    const char *tool;         /* NULL: code_execute */
    const char *input_json;   /* as tool_invoke() would get it */
    const char *context_json; /* as a host would give it; NULL: none */
};

/* What would happen to a request under a policy, and which rule decides. Asks nobody, starts and
 * runs nothing. A new object with "outcome" (allow, ask, deny) and the reasons, see docs/abi.md.
 * NULL: out of memory. */
json_t *explanation_json(const struct configuration *configuration,
                         const struct explanation_subject *subject);

/* An array of {"language", "path", "version"}, new, for the languages that the mode in force can
 * run; path and version are null where the interpreter does not say. Each is asked in a sandbox of
 * its own, so this takes a while. NULL when out of memory. */
json_t *interpreter_facts(const struct configuration *configuration);

/* How a language's interpreter is prepared for runs: is it copied, without which modules, and if
 * not, why, with a remedy. New: for programs that name no module, and for those with each word of
 * the policy's "import_named". null where nothing is copied in that mode, or for that language.
 * NULL: no memory. Takes as long as the preparation does, a minute at most. */
json_t *preparation_facts(const struct trial_subject *subject);

/* Answers "environments": {"action": "list", "check", "build" or "gc", "name"?}, about the
 * configuration in force. Adds "environments", an array of objects with the state of each, and for
 * "gc" "removed". "build" takes as long as the package manager does. false with error. */
bool environment_query_answer(const json_t *question, json_t *answer, struct error *error);

/* An array of {"name": "system", "language", "packages": [{"name", "version"}], "complete"}, new:
 * what the machine's own interpreters have for runs of the mode in force; empty where runs have an
 * image's. version is null where it is not told. Reads files, and runs nothing. NULL: no memory. */
json_t *system_facts(const struct configuration *configuration);
