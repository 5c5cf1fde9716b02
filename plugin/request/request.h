/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request: a model's untrusted JSON, parsed strictly into one copy that is then hashed, shown,
 * and run. One table (request_fields.h) describes its members. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/checkpoint.h"
#include "protocol/file_frames.h"
#include "vocabulary/language.h"
#include "json/canonical.h"

#define REQUEST_BYTES_LIMIT       (4u << 20) /* of the whole JSON text */
#define REQUEST_DEPTH_LIMIT       8
#define REQUEST_CODE_LIMIT        (1u << 20) /* bytes */
#define REQUEST_STDIN_LIMIT       (1u << 20)
#define REQUEST_ARGS_LIMIT        128 /* members */
#define REQUEST_ENVIRONMENT_LIMIT 128
#define REQUEST_SECRETS_LIMIT     32
#define REQUEST_FILES_LIMIT       64
#define REQUEST_OUTPUTS_LIMIT     OUTPUT_PATTERNS_LIMIT
#define REQUEST_TOOLS_LIMIT       64
#define REQUEST_ENDPOINTS_LIMIT   16
#define REQUEST_STRING_LIMIT      (32u << 10) /* bytes of an argument, a value, a reason */
#define REQUEST_PATH_LIMIT        255
#define REQUEST_REF_LIMIT         255
#define REQUEST_TIMEOUT_LIMIT     300000000           /* ms; the policy's ceiling is far lower */
#define REQUEST_MEMORY_LEAST      (INT64_C(16) << 20) /* bytes */
#define REQUEST_MEMORY_LIMIT      (INT64_C(64) << 40) /* likewise */
#define REQUEST_IMAGE_LIMIT       255
#define REQUEST_SESSION_LIMIT     128
#define REQUEST_SESSION_KEEP      "keep" /* of session_action */
#define REQUEST_SESSION_END       "end"
#define REQUEST_SESSION_UNDO      "undo"
#define REQUEST_SESSION_FORK      "fork"
#define REQUEST_COUNT_LIMIT       CHECKPOINTS_MOST

/* The shape of a call: the tool's own or another that is accepted for it. */
enum request_shape {
    REQUEST_CODE_EXECUTE,
    REQUEST_SANDBOX_EXEC, /* "runtime" for "language", 5 s by default */
};

struct request_secret {
    char *variable; /* name of the environment variable */
    char *name;     /* from "{{secret:NAME}}" */
};

/* A file for the working directory: its content, or the gateway's reference to it. What is known of
 * a file by reference the call settles (call/input_files.h). */
struct request_file {
    char *path;
    unsigned char *content; /* NULL: by reference */
    size_t length;
    char *ref;                          /* NULL: content is here */
    const char *name;                   /* of a file by reference: the gateway's; borrowed */
    char sha256[SHA256_HEX_LENGTH + 1]; /* likewise; "": not known yet */
};

/* The hash of its content; "": not known yet. */
void request_file_hash(const struct request_file *file, char ret[SHA256_HEX_LENGTH + 1]);

struct request {
    enum request_shape shape;
    const struct language *language;
    char *code;
    size_t code_length;
    char *stdin_text; /* NULL: absent */
    size_t stdin_length;
    char **args;                    /* NULL-terminated, never NULL */
    char **environment;             /* NULL-terminated "NAME=value", sorted by name, never NULL */
    struct request_secret *secrets; /* sorted by variable */
    size_t secret_count;
    struct request_file *files; /* in the request's order, decoded */
    size_t file_count;
    char **outputs;        /* patterns of paths, NULL-terminated; NULL: absent */
    char **tools;          /* names and beginnings of names, NULL-terminated; NULL: absent */
    char **endpoints;      /* names, each once, NULL-terminated; NULL: absent */
    char *packages;        /* an environment's name; NULL: absent */
    uint64_t timeout_ms;   /* 0: absent */
    uint64_t memory_bytes; /* 0: absent */
    bool network;
    char *image;          /* NULL: absent */
    char *session;        /* NULL: absent */
    char *session_action; /* likewise */
    uint64_t count;       /* of cells to undo; 0: absent, which is one */
    char *reason;         /* NULL: absent; the model's own words, to be shown as such */
    json_t *notes;        /* array of strings: corrections of the request */
};

/* Reads input_json (length bytes) as a call of the given shape. true and *ret filled
 * (request_clear()), or false with error INVALID_INPUT naming the JSON pointer, or
 * UNKNOWN_LANGUAGE. */
bool request_parse(enum request_shape shape, const char *input_json, size_t length,
                   struct request *ret, struct error *error);

/* Whether the hint of its refusal lists the members: all of them, for any caller. */
bool request_lists_members(const char *hint);

/* New: the variables of its secrets, each with the secret's name. NULL when out of memory. */
json_t *request_secret_names(const struct request *request);
void request_clear(struct request *request);
