/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the gateway's context narrows the policy for one call ("policy" of context_json): limits at
 * most so high, fewer files and results, fewer languages, endpoints and capabilities, no network,
 * namespaces, somebody is asked. It never gives: a narrowing that asks for more than the policy
 * refuses the call. Reading it allocates; the rest is pure. Any thread; owned by the call.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "vocabulary/capability.h"
#include "json/json_place.h"

struct narrowing {
    json_t *json;                      /* as it was given; NULL: the policy holds as it is */
    struct policy_limits ceilings;     /* see policy_read_ceilings() */
    char **languages;                  /* NULL: those of the policy */
    char **capabilities;               /* entries; NULL: those of the policy */
    char **endpoints;                  /* names; NULL: those of the policy */
    struct policy_transfers transfers; /* see policy_open_transfers() */
    bool network;                      /* as far as the policy allows it */
    enum sandbox_mode process_means;   /* see struct policy; SANDBOX_MODE_COUNT: as the policy */
    enum approval_decision approval;   /* of every call at least; ALLOW: as the policy decides */
};

/* Fills a zeroed *ret, which narrowing_clear() releases either way. */
bool narrowing_read(const struct json_place *place, json_t *value, struct narrowing *ret);
void narrowing_clear(struct narrowing *narrowing);

/* Does it say no more than the policy? false with POLICY_DENIED, naming the place. */
bool narrowing_check(const struct narrowing *narrowing, const struct policy *policy,
                     struct error *error);

/* As it was given, new; null where nothing is narrowed. */
json_t *narrowing_json(const struct narrowing *narrowing);

/* The remaining policy. */
/* The mode of a call that would have this one. */
enum sandbox_mode narrowing_mode(const struct narrowing *narrowing, enum sandbox_mode mode);
/* Whether that one has the isolation that is left. */
bool narrowing_check_mode(const struct narrowing *narrowing, const struct policy *policy,
                          enum sandbox_mode mode, struct error *error);
bool narrowing_leaves_language(const struct narrowing *narrowing, const char *language);
bool narrowing_leaves_endpoint(const struct narrowing *narrowing, const char *name);
bool narrowing_leaves_network(const struct narrowing *narrowing);
bool narrowing_leaves_capability(const struct narrowing *narrowing, enum capability capability,
                                 const char *parameter);
struct policy_limits narrowing_limits(const struct narrowing *narrowing,
                                      const struct policy_limits *limits);
struct policy_transfers narrowing_transfers(const struct narrowing *narrowing,
                                            const struct policy_transfers *transfers);
/* The stricter of the policy's decision and the narrowing's. */
enum approval_decision narrowing_decision(const struct narrowing *narrowing,
                                          enum approval_decision decision);
