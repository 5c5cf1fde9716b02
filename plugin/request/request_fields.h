/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the request's members. Everything that knows members walks it: the parser, the input
 * schema, the capability check, the approval hash, the arguments that an approver can edit, and the
 * audit. A member is added by a row here, a place in struct request, and the code that acts on it.
 * Constant data, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "vocabulary/capability.h"
#include "json/json_place.h"
#include "json/json_text.h"

/* The encodings of a file's content. */
#define FILE_ENCODING_UTF8   "utf-8"
#define FILE_ENCODING_BASE64 "base64"

/* How a member is described and, where its row has no functions of its own, read and written. */
enum request_field_kind {
    REQUEST_FIELD_LANGUAGE,    /* string of the closed set */
    REQUEST_FIELD_STRING,      /* char *; limit: bytes */
    REQUEST_FIELD_STRINGS,     /* array of strings; limit: members */
    REQUEST_FIELD_ENVIRONMENT, /* object of strings; names are [A-Za-z_][A-Za-z0-9_]* */
    REQUEST_FIELD_SECRETS,     /* object of "{{secret:NAME}}" */
    REQUEST_FIELD_FILES,       /* array of {path, content, encoding} or {path, ref} */
    REQUEST_FIELD_INTEGER,     /* uint64_t, 0: absent; minimum and maximum */
    REQUEST_FIELD_BOOLEAN,     /* bool, false: absent */
};

/* How files are written: as an approval is bound to them, by their hashes; with the names of files
 * by reference beside that; or with the content of all others too. */
enum request_files_form { REQUEST_FILES_HASHED, REQUEST_FILES_SHOWN, REQUEST_FILES_WHOLE };

struct request_field {
    const char *name;
    const char *alias; /* another name that is taken for it, or NULL */
    enum request_field_kind kind;
    bool required;
    size_t offset; /* of the member of struct request that holds it */
    size_t limit;
    int64_t minimum, maximum;
    const char *description;

    /* The policy's limit that the member asks for, an integer; NULL: none. The capability is for
     * more than the default. */
    const char *policy_limit;
    const char *unit;
    const char *offer; /* the description where default and ceiling are known and follow it */

    /* Reads a value that is neither missing nor null. NULL: by kind, offset and limits. */
    bool (*read)(const struct json_place *place, json_t *value, const struct request_field *field,
                 struct request *request);
    /* The value as a request would have it, new. NULL: by kind and offset. */
    json_t *(*value)(const struct request *request);

    /* The capability that the member needs; every call needs CAPABILITY_EXEC. */
    enum capability capability;

    /* The member of the canonical request that stands for this one, so that an approval holds for
     * no other value of it. Where the call settles its value, the call writes it
     * (canonical_request.c); else write does. NULL: by kind and offset. */
    const char *hashed_as;
    void (*write)(struct json_draft *draft, const char *name, const struct request *request);
    /* Instead of write, of files. */
    void (*write_form)(struct json_draft *draft, const char *name, const struct request *request,
                       enum request_files_form form);
    /* Where hashed_as is NULL: why an approval may hold for other values. */
    const char *not_hashed;

    /* Where hashed_as has a value: a cell runs by an answer allow_cells that an earlier cell of its
     * session has got, although its value is another one. */
    bool differs_by_cell;

    /* JSON of two values that differ from each other and from an absent member; NULL where there is
     * only one. The tests of the table take them. */
    const char *examples[2];

    /* What the audit has of it under its own name, NULL: nothing; and how. NULL: as write. */
    const char *audited;
    void (*audit)(struct json_draft *draft, const char *name, const struct request *request);
};

/* No table is longer. */
#define REQUEST_FIELDS_LIMIT 32

/* The table; *ret_count members in the order of the schema. */
const struct request_field *request_fields(size_t *ret_count);

/* The field of that name or alias; NULL where there is none. */
const struct request_field *request_field_find(const char *name, size_t length);

/* Whether the request has the member. */
bool request_field_is_given(const struct request_field *field, const struct request *request);

/* The value of a member that is an integer; 0: absent. */
uint64_t request_field_number(const struct request_field *field, const struct request *request);

/* The field that asks for the limit of that name; NULL: there is none. */
const struct request_field *request_field_of_limit(const char *limit);

/* Reads a value that is neither missing nor null into the request. */
bool request_field_read(const struct request_field *field, const struct json_place *place,
                        json_t *value, struct request *request);

/* The member of the canonical request, given or not: absent is null, false or empty. */
void request_field_write(const struct request_field *field, struct json_draft *draft,
                         const struct request *request, enum request_files_form files);

/* The members that the audit has of a request. */
void request_fields_audit(struct json_draft *draft, const struct request *request);

/* A request as the tool's arguments, which approvers see and edit: an object that request_parse()
 * reads as the same request, under the names of the input schema and without absent members. New;
 * NULL: out of memory. */
json_t *request_arguments(const struct request *request);
