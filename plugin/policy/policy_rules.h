/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approval rules: the facts that they see, their conditions, and their decision about a request.
 * The rules of a policy are read once, with their examples, and immutable afterwards. Pure code,
 * any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy_inputs.h"
#include "vocabulary/sandbox_mode.h"
#include "json/canonical.h"
#include "json/json_place.h"

/* The order is the strictness: of the rules that apply the greatest wins. */
enum approval_decision { APPROVAL_ALLOW, APPROVAL_ASK, APPROVAL_DENY };

/* The standing and other answers that an approver may give ("approval.decisions"), as bits. */
enum approver_decision {
    APPROVER_ONCE = 1 << 0,
    APPROVER_SESSION = 1 << 1, /* the identical request until the provider is unloaded */
    APPROVER_ALWAYS = 1 << 2,  /* the identical request until it expires */
    APPROVER_DENY = 1 << 3,    /* in every policy, named or not */
    APPROVER_EDIT = 1 << 4,    /* another request instead */
    APPROVER_CELLS = 1 << 5    /* further cells until the session ends */
};

/* The facts of a request that rules can see; all borrowed. */
struct rule_facts {
    const char *language; /* canonical name */
    enum sandbox_mode mode;
    bool network;
    const char *const *secrets; /* names, no NULL at the end */
    size_t secret_count;
    const char *const *endpoints; /* likewise */
    size_t endpoint_count;
    const char *code; /* code_bytes of it; NULL: not known but for them and code_sha256 */
    uint64_t code_bytes;
    char code_sha256[SHA256_HEX_LENGTH + 1]; /* "": made of code when a rule asks for it */
    const char *principal;                   /* NULL: the host has not said */
    bool workspace;
    bool history;                     /* other code ran before in the same interpreter */
    const struct rule_inputs *inputs; /* the other inputs that decide what runs; NULL: not known */
    const char *request_sha256;       /* NULL: not known */
};

/* Every condition that is given must hold; one that is absent always does. */
struct policy_rule {
    enum approval_decision decision;
    char *id;                /* NULL: none */
    char **languages;        /* NULL: any */
    char **modes;            /* NULL: any */
    int network;             /* -1: any, 0, 1 */
    int secrets;             /* -1: any, 0: none asked for, 1: some */
    char **secret_names;     /* NULL: any; else those that it is about, see rule_applies() */
    int endpoints;           /* as secrets */
    char **endpoint_names;   /* as secret_names */
    char **code_sha256;      /* NULL: any; lower-case hexadecimal */
    struct rule_inputs with; /* of a rule that allows by code_sha256 */
    char **request_sha256;   /* NULL: any */
    uint64_t code_least;     /* bytes */
    uint64_t code_most;      /* bytes; UINT64_MAX: any */
    char **principals;       /* NULL: any; a request without a principal is nobody's */
    char *reason;            /* NULL or words for the result */
};

/* Whether all conditions of the rule hold. Of named secrets and endpoints an allowing rule wants
 * all that are asked for among its names, and at least one; one that asks or denies is met by any
 * of them. */
bool rule_applies(const struct policy_rule *rule, struct rule_facts *facts);
/* Does the rule allow code by its hash? Such a rule applies only where all else that decides what
 * runs is named by it, or is not there; one that asks or denies applies whatever is beside it. A
 * request_sha256 names everything. */
bool rule_allows_by_code(const struct policy_rule *rule);
/* The name of the input that keeps such a rule from applying because the rule does not name it.
 * NULL: it applies, or does not for another reason. */
const char *rule_does_not_name(const struct policy_rule *rule, struct rule_facts *facts);

/* policy_examples.c: holds a rule against its "match" and "not_match" (NULL: none). usual_mode is
 * that of an example which names none. */
bool policy_examples_agree(const struct json_place *place, const json_t *rule_json,
                           const struct policy_rule *rule, enum sandbox_mode usual_mode);
