/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's providers of secrets, asked in their order for secrets that the host does not have.
 * Only a provider without the secret passes the question on. One that has it and cannot give it
 * (unsafe, unreadable, too long) ends the search, so that a program never gets another value than
 * the intended one. Runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "secrets/secret.h"

#define SECRET_NAME_PLACEHOLDER "{name}"

enum secret_provider_kind {
    SECRET_PROVIDER_SYSTEMD,     /* systemd.exec(5), "Credentials" */
    SECRET_PROVIDER_FILES,       /* a file of the secret's name */
    SECRET_PROVIDER_ENVIRONMENT, /* a variable of the gateway's */
    SECRET_PROVIDER_COMMAND,
    SECRET_PROVIDER_COUNT
};

/* Owned by the policy; NULL and 0 where the kind has no such member. */
struct secret_provider {
    enum secret_provider_kind kind;
    char *directory;    /* systemd: NULL is that of CREDENTIALS_DIRECTORY */
    bool shared;        /* others than the owner may read the files */
    bool links;         /* symbolic links that stay below the directory are followed */
    char *prefix;       /* of the variable */
    char **argv;        /* one of them SECRET_NAME_PLACEHOLDER */
    char **environment; /* "NAME=value" */
    char **inherit;     /* names of the gateway's variables that the command gets */
    uint64_t timeout_ms;
};

/* FOUND and *ret (secret_value_clear()), or FAILED with error SECRET_UNAVAILABLE, SECRET_TOO_LARGE,
 * CANCELLED or OUT_OF_MEMORY. name is a handle's; a readable cancel_fd (-1: none) ends the wait for
 * a command. */
enum secret_answer secret_provider_read(const struct secret_provider *provider, const char *name,
                                        int cancel_fd, struct secret_value *ret,
                                        struct error *error);

/* secret_file.c: the content of a file in the directory, without one line feed at its end. */
enum secret_answer secret_file_read(const struct secret_provider *provider, const char *directory,
                                    mode_t forbidden, const char *name, struct secret_value *ret,
                                    struct error *error);
/* secret_command.c: the output of the command, without one line feed at its end. */
enum secret_answer secret_command_read(const struct secret_provider *provider, const char *name,
                                       int cancel_fd, struct secret_value *ret,
                                       struct error *error);
