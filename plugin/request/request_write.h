/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writers of the table of members (request_fields.c): a member as a request has it, as the
 * canonical request has it, and as the audit has it. Pure code, any thread.
 */
#pragma once

#include "request/request_fields.h"

/* A new value; NULL: out of memory. */
typedef json_t *request_value(const struct request *request);

request_value request_value_language;
request_value request_value_args;
request_value request_value_env;
request_value request_value_secrets;
request_value request_value_files;

/* The member of the canonical request, absent or not: null, an empty list, false. */
typedef void request_writer(struct json_draft *draft, const char *name,
                            const struct request *request);

request_writer request_write_language;
request_writer request_write_args;
request_writer request_write_env;
request_writer request_write_secrets;
request_writer request_write_files;
request_writer request_write_whole_files; /* with their content */

/* The names of the secrets, in a list. */
request_writer request_audit_secrets;
