/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the effective policy (the merged whole) into struct policy. Inner to the policy; each
 * section's reader fills its members of a zeroed policy, which policy_unref() releases whether or
 * not the reading went through. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "policy/policy.h"
#include "json/json_place.h"

#define POLICY_STRING_LIMIT 4096 /* bytes of a path, an argument, a value */
#define POLICY_PATH_LIMIT   4095 /* of any path: the kernel's own, without the NUL */
#define POLICY_LIST_LIMIT   256  /* members of a list */

/* The whole; false with error INVALID_POLICY naming the place. */
bool policy_parse(const struct json_place *root, json_t *merged, struct policy *policy);

/* Sections, each in a file of its subject. */
bool policy_parse_limits(const struct json_place *place, json_t *value, struct policy *policy);
/* After the languages: none of them may need more for one run. */
bool policy_parse_memory_total(const struct json_place *place, json_t *value,
                               struct policy *policy);
bool policy_parse_pools(const struct json_place *place, json_t *value, struct policy *policy);
bool policy_parse_approval(const struct json_place *place, json_t *value, struct policy *policy);
bool policy_parse_languages(const struct json_place *place, json_t *value, struct policy *policy);
/* Takes the languages away that it does not name. */
bool policy_parse_only_languages(const struct json_place *place, json_t *value,
                                 struct policy *policy);
bool policy_parse_secrets(const struct json_place *place, json_t *value, struct policy *policy);
/* Of that section; NULL is none. */
bool policy_read_secret_providers(const struct json_place *place, json_t *value,
                                  struct policy *policy);
bool policy_read_secret_delivery(const struct json_place *place, json_t *value,
                                 struct policy *policy);
/* Of the section of a mode that has images: "images", "offered", "require_digest" and "pull". After
 * the languages. */
bool policy_read_images(const struct json_place *place, json_t *value, struct policy *policy);
bool policy_parse_docker(const struct json_place *place, json_t *value, struct policy *policy);
bool policy_parse_content(const struct json_place *place, json_t *value, struct policy *policy);

/* A new copy of the text; false when out of memory. */
bool policy_copy_text(const struct json_place *place, const char *text, char **ret);
/* Lists of strings. check refuses a member that is none of its kind; *ret is new. */
typedef bool policy_string_check(const struct json_place *place, const char *string);
bool policy_read_strings(const struct json_place *place, json_t *value, size_t minimum,
                         policy_string_check *check, char ***ret);
/* The same; a list that is not there (NULL) is an empty one. */
bool policy_read_optional_strings(const struct json_place *place, json_t *value,
                                  policy_string_check *check, char ***ret);
/* Absolute, not too long, no empty, "." or ".." part, no control character. */
policy_string_check policy_check_path;
/* Such a path that may also be shown to a run: not "/", nor /proc, /sys, /dev and what is below. */
policy_string_check policy_check_view_path;
/* The index of the name in names; false, and the refusal is the caller's to word. */
bool policy_choose(const char *name, const char *const *names, size_t count, size_t *ret);
/* Letters, digits and any of others; not beginning with "." or "-". */
bool policy_is_plain_name(const char *name, const char *others);
/* policy_preparation.c: absent is none. */
bool policy_read_preparation(const struct json_place *place, json_t *value,
                             struct policy_preparation *ret);
void policy_preparation_clear(struct policy_preparation *preparation);
/* A command of which one argument is "{file}". */
bool policy_read_argv(const struct json_place *place, json_t *value, char ***ret);
/* A canonical language name. */
policy_string_check policy_check_language;
policy_string_check policy_check_mode;
/* An entry of capability.h. */
policy_string_check policy_check_capability;
/* Lower-case hexadecimal. */
policy_string_check policy_check_sha256;
/* "allow", "ask" or "deny". */
bool policy_read_decision(const struct json_place *place, const json_t *value,
                          enum approval_decision *ret);
/* No call gets more wall time by coming in another shape. */
void policy_bound_shapes(struct policy_limits *bounded);
/* The limits of a language: *ret is the policy's as the file has them, and gets those that value
 * (NULL: none) names. */
bool policy_read_language_limits(const struct json_place *place, const json_t *value,
                                 struct policy_limits *ret);
/* Ceilings, one number a limit: the maximum of each, UINT64_MAX where value (NULL: none) names
 * none; that of wall_ms counts for both shapes of calls. */
bool policy_read_ceilings(const struct json_place *place, json_t *value, struct policy_limits *ret);
/* None is above what the policy or any of its languages has. */
bool policy_check_ceilings(const struct json_place *place, const struct policy *policy,
                           const struct policy_limits *ceilings);
void policy_lower_limits(struct policy_limits *lowered, const struct policy_limits *ceilings);
