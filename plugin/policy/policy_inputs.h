/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs that decide what a program does, beside its code: its arguments, variables, input,
 * files, image and secrets. A rule that allows code by its hash names them exactly ("with"), by
 * value or by digest: a variable's name alone would let anything in (BASH_ENV, PYTHONWARNINGS), and
 * so would a file's (hashlib.py). Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "request/request.h"
#include "json/canonical.h"
#include "json/json_place.h"

/* A list of NULL is the empty one. All lists but args are sorted. */
struct rule_inputs {
    char **args;
    char **environment;                       /* "NAME=value" */
    char **files;                             /* "SHA-256 path" */
    char **secrets;                           /* "VARIABLE=name" */
    char *image;                              /* NULL: the language's own */
    char stdin_sha256[SHA256_HEX_LENGTH + 1]; /* "": no input */
};

/* A rule's or an example's "with". The caller clears *ret even on false. */
bool rule_inputs_read(const struct json_place *place, json_t *value, struct rule_inputs *ret);
/* Those of a request. false when out of memory; *ret is to be cleared either way. */
bool rule_inputs_of_request(const struct request *request, struct rule_inputs *ret);
void rule_inputs_clear(struct rule_inputs *inputs);

/* NULL when both are the same; else the name of the first member that differs. */
const char *rule_inputs_difference(const struct rule_inputs *left, const struct rule_inputs *right);
