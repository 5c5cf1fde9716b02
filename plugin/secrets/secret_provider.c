/* SPDX-License-Identifier: Apache-2.0 */
/* How each kind of provider is asked. Runs in the gateway, on the thread inside tool_invoke(). */
#include "secrets/secret_provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "vocabulary/environment.h"

/* Bits of a file's mode that are refused. Of systemd's the group may read: with User= it is the
 * mask of an access control list that names this user alone. */
#define WRITABLE_BY_OTHERS   (S_IWGRP | S_IWOTH)
#define FORBIDDEN_OF_SHARED  WRITABLE_BY_OTHERS
#define FORBIDDEN            (S_IRWXG | S_IRWXO)
#define FORBIDDEN_OF_SYSTEMD (S_IWGRP | S_IXGRP | S_IRWXO)

static enum secret_answer read_systemd(const struct secret_provider *provider, const char *name,
                                       int cancel_fd, struct secret_value *ret, struct error *error)
{
    (void)cancel_fd;
    const char *directory = provider->directory;
    if (!directory)
        directory = secure_getenv("CREDENTIALS_DIRECTORY");
    if (!directory || directory[0] != '/')
        return SECRET_ABSENT;
    return secret_file_read(provider, directory, FORBIDDEN_OF_SYSTEMD, name, ret, error);
}

static enum secret_answer read_files(const struct secret_provider *provider, const char *name,
                                     int cancel_fd, struct secret_value *ret, struct error *error)
{
    (void)cancel_fd;
    return secret_file_read(provider, provider->directory,
                            provider->shared ? FORBIDDEN_OF_SHARED : FORBIDDEN, name, ret, error);
}

/* The name is used unchanged: a name that no variable can have is not mapped to another. */
static enum secret_answer read_environment(const struct secret_provider *provider, const char *name,
                                           int cancel_fd, struct secret_value *ret,
                                           struct error *error)
{
    (void)cancel_fd;
    char variable[2 * ENVIRONMENT_NAME_LIMIT];
    (void)snprintf(variable, sizeof(variable), "%s%s", provider->prefix, name);
    if (!environment_name_valid(variable, strlen(variable)))
        return SECRET_ABSENT;
    const char *value = secure_getenv(variable);
    if (!value)
        return SECRET_ABSENT;
    return secret_value_copy(name, value, strlen(value), ret, error);
}

typedef enum secret_answer provider_reader(const struct secret_provider *provider, const char *name,
                                           int cancel_fd, struct secret_value *ret,
                                           struct error *error);

static provider_reader *const readers[SECRET_PROVIDER_COUNT] = {
    [SECRET_PROVIDER_SYSTEMD] = read_systemd,
    [SECRET_PROVIDER_FILES] = read_files,
    [SECRET_PROVIDER_ENVIRONMENT] = read_environment,
    [SECRET_PROVIDER_COMMAND] = secret_command_read,
};

enum secret_answer secret_provider_read(const struct secret_provider *provider, const char *name,
                                        int cancel_fd, struct secret_value *ret,
                                        struct error *error)
{
    return readers[provider->kind](provider, name, cancel_fd, ret, error);
}
