/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers and writers of the table of members (request_fields.c). A reader reads a value that
 * is neither missing nor null into the request, or refuses it with the place's error.
 * request_clear() frees a half-read value too. Pure code, any thread.
 */
#pragma once

#include "request/request_fields.h"

typedef bool request_reader(const struct json_place *place, json_t *value,
                            const struct request_field *field, struct request *request);

request_reader request_read_language;
request_reader request_read_code;
request_reader request_read_stdin;
request_reader request_read_args;
request_reader request_read_env;
request_reader request_read_secrets;
request_reader request_read_files;
request_reader request_read_outputs;
request_reader request_read_tools;
request_reader request_read_endpoints;
request_reader request_read_packages;
request_reader request_read_image;
request_reader request_read_session;
request_reader request_read_session_action;

/* The writers (request_write.c). */

/* A new value; NULL: out of memory. */
typedef json_t *request_value(const struct request *request);

request_value request_value_language;
request_value request_value_args;
request_value request_value_env;
request_value request_value_secrets;
request_value request_value_files;
request_value request_value_outputs;
request_value request_value_tools;
request_value request_value_endpoints;

/* The member of the canonical request, absent or not: null, an empty list, false. */
typedef void request_writer(struct json_draft *draft, const char *name,
                            const struct request *request);

request_writer request_write_language;
request_writer request_write_args;
request_writer request_write_env;
request_writer request_write_secrets;
/* The files, which are written in several forms. */
void request_write_files(struct json_draft *draft, const char *name, const struct request *request,
                         enum request_files_form form);
request_writer request_write_outputs;
request_writer request_write_tools;
request_writer request_write_endpoints;
request_writer request_write_count;

/* The files as an approver sees them. */
request_writer request_audit_files;
/* The names of the secrets, in a list. */
request_writer request_audit_secrets;

/* Adds to the notes of the result; false when out of memory. */
bool request_note(const struct json_place *place, struct request *request, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The slips models make when they write code into JSON: a Markdown fence around all of it, a byte
 * order mark before it. Both are no part of any program, so they are taken off, and the result says
 * so (code_repair.c). */
struct code_repair {
    const char *code; /* the part of the text that is the program; borrowed from it */
    size_t length;
    bool byte_order_mark; /* was taken off */
    bool fence;           /* was taken off */
};

struct code_repair code_repair_find(const char *text, size_t length);
