/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of HTTP that an endpoint of the policy names: methods, patterns of paths, headers,
 * parameters of a query. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#define ENDPOINT_HEADER_LIMIT 64 /* bytes of a name */
#define ENDPOINT_PATH_LIMIT   1024

/* Each NULL, or words for the refusal. */

/* One of those that a program sends for itself: neither CONNECT nor TRACE. */
const char *endpoint_method_check(const char *method);

/* A pattern of glob_matches() that begins with "/": of a path as it is sent, without a query, with
 * no empty, "." or ".." part. */
const char *endpoint_path_check(const char *pattern);

/* The name of a header in lower case that the policy may pass, set or use. Not one that carries
 * credentials or sessions, decides where a message ends or goes, or is the broker's to set. */
const char *endpoint_header_check(const char *name);
/* The same of the header that carries an endpoint's own credential, which may be authorization. */
const char *endpoint_auth_header_check(const char *name);

const char *endpoint_header_value_check(const char *value);
/* The name of a parameter of a query, without anything to be escaped. */
const char *endpoint_parameter_check(const char *name);
