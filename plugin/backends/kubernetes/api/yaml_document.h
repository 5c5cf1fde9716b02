/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig's text, YAML or the JSON that is part of it, as libyaml understands it, in the types
 * of JSON. Forms that expand a short text, or that two readers may understand differently, are
 * refused with their line: anchors, tags, merge keys, a key that comes twice, several documents.
 * Pure code. Runs in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define YAML_DOCUMENT_DEPTH 16         /* of mappings and sequences */
#define YAML_DOCUMENT_NODES (1U << 15) /* keys count too; that many are in 600 contexts */

/* New; NULL with the number of the first line that could not be read (the end counts as a line;
 * without memory the number means nothing). The caller bounds the length. Plain true and false are
 * booleans; plain null, ~ and empty values are null; all other values are strings, without NUL. */
json_t *yaml_document_read(const char *text, size_t length, size_t *ret_line);
