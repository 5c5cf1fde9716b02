/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a cluster's objects, as they are kept here. Pure code. Runs in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes that are not printable ASCII become '?': the text is shown to people. What does not fit is
 * cut off. */
void object_text(const json_t *text, char *ret, size_t size);
/* A name is used in requests: one that does not fit, or has other signs than names have, is none:
 * also "..", which is another place in a path. false and *ret untouched then. */
bool object_name(const json_t *text, char *ret, size_t size);
