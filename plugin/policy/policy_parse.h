/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the effective policy (the merged whole) into struct policy by tables of members, a table
 * a section. Inner to the policy. The same tables release what a policy owns, whether or not the
 * reading went through. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "policy/policy.h"
#include "vocabulary/path.h"
#include "json/json_members.h"

#define POLICY_STRING_LIMIT 4096 /* bytes of a path, an argument, a value */
#define POLICY_LIST_LIMIT   256  /* members of a list */

/* The whole; false with error INVALID_POLICY naming the place. */
bool policy_parse(const struct json_place *root, json_t *merged, struct policy *policy);

/* Members of struct policy, unless it says otherwise; sections in files of their subjects. */
extern const struct json_member policy_members[];
extern const struct json_member policy_approval_members[];
extern const struct json_member policy_secrets_members[];
extern const struct json_member policy_images_members[];  /* beside those of the mode's engine */
extern const struct json_member policy_content_members[]; /* of struct policy_content */
extern const struct json_member rule_inputs_members[];    /* of struct rule_inputs */
extern const struct json_items policy_languages;
extern const struct json_items policy_rules;

/* Readers of sections; object is the policy. */
bool policy_read_limits(const struct json_place *place, json_t *value, void *object);
/* After the languages: none of them may need more for one run. */
bool policy_read_memory_total(const struct json_place *place, json_t *value, void *object);
/* Object is a language, which has the policy's limits as the file has them. */
bool policy_read_language_limits(const struct json_place *place, json_t *value, void *object);
bool policy_read_pools(const struct json_place *place, json_t *value, void *object);
/* Takes the languages away that it does not name. */
bool policy_read_only_languages(const struct json_place *place, json_t *value, void *object);
/* Of the section of a mode that has images, by policy_images_members. After the languages. */
bool policy_read_images(const struct json_place *place, json_t *value, struct policy *policy);

/* Kinds of members. */
extern const struct json_kind policy_strings;     /* char **: a list of strings, at least minimum */
extern const struct json_kind policy_argv;        /* char **: a command with "{file}" in it */
extern const struct json_kind policy_environment; /* char **: "NAME=value" */
extern const struct json_kind policy_mode;        /* enum sandbox_mode */
extern const struct json_kind policy_sha256;      /* char[SHA256_HEX_LENGTH + 1] */

/* In the order of enum approval_decision, with NULL at the end. */
extern const char *const policy_decisions[];

/* A list of strings, new. */
bool policy_read_strings(const struct json_place *place, json_t *value, size_t minimum,
                         json_text_check *check, char ***ret);
/* An absolute path that may be shown to a run: not "/", nor /proc, /sys, /dev and what is below. */
json_text_check policy_check_view_path;
/* A canonical language name. */
json_text_check policy_check_language;
json_text_check policy_check_mode;
/* An entry of capability.h. */
json_text_check policy_check_capability;
/* Lower-case hexadecimal. */
json_text_check policy_check_sha256;
json_text_check policy_check_secret_name;
/* Letters, digits and any of others; not beginning with "." or "-". */
bool policy_is_plain_name(const char *name, const char *others);
/* The same, as a check of its own words. */
bool policy_check_plain_name(const struct json_place *place, const char *name, const char *others);

/* No call gets more wall time by coming in another shape. */
void policy_bound_shapes(struct policy_limits *bounded);
/* Ceilings, one number a limit: the maximum of each, UINT64_MAX where value (NULL: none) names
 * none; that of wall_ms counts for both shapes of calls. */
bool policy_read_ceilings(const struct json_place *place, json_t *value, struct policy_limits *ret);
/* None is above what the policy or any of its languages has. */
bool policy_check_ceilings(const struct json_place *place, const struct policy *policy,
                           const struct policy_limits *ceilings);
void policy_lower_limits(struct policy_limits *lowered, const struct policy_limits *ceilings);
