/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig's text, YAML or the JSON that is part of it, as libyaml understands it, in the types
 * of JSON. What lets a short text say much, or lets two readers understand it differently, is
 * refused by its line: anchors, tags, merge keys, a key that comes twice, several documents. Pure
 * code. Runs in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define YAML_DOCUMENT_DEPTH 16         /* of mappings and sequences */
#define YAML_DOCUMENT_NODES (1U << 15) /* keys count too; that many are in 600 contexts */

/* New; NULL with the number of the line that could not be read, from 1 on: the end is one of its
 * own; where memory is lacking, any. Whoever reads the file bounds its length. Of plain values,
 * true and false are booleans, null, ~ and nothing are null; all others are strings, without NUL.
 */
json_t *yaml_document_read(const char *text, size_t length, size_t *ret_line);
