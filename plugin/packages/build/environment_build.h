/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the packages of an environment: a call of ours, under the operator's policy with the
 * rights and limits of a build, runs the package manager in a sandbox; a program of ours unpacks
 * what it leaves; the set gets its name, by its content, once it is whole. Nobody is asked: it is
 * the operator that builds. Runs on the thread inside tool_prepare().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "packages/package_set.h"
#include "policy/configuration.h"

/* The whole. false with an error of the sandbox's, or ENVIRONMENT_NOT_BUILT. */
bool environment_build(const struct configuration *configuration,
                       const struct policy_environment *environment, struct error *error);

/* The parts of it. */

/* The configuration of a call of ours: the one in force, with the rights and limits of a build.
 * with_packages: its environments can be named. */
bool build_configure(const struct configuration *configuration,
                     const struct policy_environment *environment, bool with_packages,
                     struct configuration *ret, struct error *error);

/* What the call leaves. */
struct build_output {
    int archive;      /* of the content; -1: none */
    json_t *packages; /* an object: what made it, and the packages */
    json_t *images; /* an object: the id of the image that made it, and its name; NULL: none did */
};

void build_output_clear(struct build_output *output);

/* Runs the package manager. lock_text: of lock_length bytes, UTF-8. */
bool build_run(const struct configuration *configuration,
               const struct policy_environment *environment, const char *lock_text,
               size_t lock_length, struct build_output *ret, struct error *error);

/* Runs a program with the packages, where they become a part of an image: so the image is there
 * ahead of the first run, and whoever may build has noted by what it is known. */
bool build_try(const struct configuration *configuration,
               const struct policy_environment *environment, struct error *error);

/* Unpacks what a build has left, and puts the set in its place. about: the lock file's hash. */
bool build_install(const struct configuration *configuration,
                   const struct policy_environment *environment, const char *lock_sha256,
                   const struct build_output *output, struct error *error);

/* Takes the sets away to which no environment of the policy leads any more, and that no session of
 * the policy can have. An array of their names; NULL with error. */
json_t *build_collect(const struct policy *policy, struct error *error);
