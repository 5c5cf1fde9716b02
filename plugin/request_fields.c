/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the request's members. The descriptions are read by models: few words, every limit.
 * Constant data; runs in the gateway on any thread.
 */
#include "request_fields.h"

#include <string.h>

#include "cleanup.h"

static const struct request_field fields[FIELD_COUNT] = {
    [FIELD_LANGUAGE] = {.name = "language",
                        .alias = "runtime",
                        .kind = REQUEST_FIELD_LANGUAGE,
                        .required = true,
                        .description = "Language of the code."},
    [FIELD_CODE] = {.name = "code",
                    .kind = REQUEST_FIELD_STRING,
                    .required = true,
                    .limit = REQUEST_CODE_LIMIT,
                    .description =
                        "The whole program as plain text, without Markdown fences. Print what you "
                        "want to see: only stdout and stderr come back. At most 1 MiB."},
    [FIELD_STDIN] = {.name = "stdin",
                     .kind = REQUEST_FIELD_STRING,
                     .limit = REQUEST_STDIN_LIMIT,
                     .description = "Text for the program's standard input. At most 1 MiB."},
    [FIELD_ARGS] = {.name = "args",
                    .kind = REQUEST_FIELD_STRINGS,
                    .limit = REQUEST_ARGS_LIMIT,
                    .description =
                        "Command-line arguments behind the program's name. At most 32 KiB each."},
    [FIELD_ENV] = {.name = "env",
                   .kind = REQUEST_FIELD_ENVIRONMENT,
                   .limit = REQUEST_ENVIRONMENT_LIMIT,
                   .description = "Environment variables, name to value. At most 128; names of "
                                  "letters, digits and _. Not for credentials."},
    [FIELD_SECRETS] =
        {.name = "secrets",
         .kind = REQUEST_FIELD_SECRETS,
         .limit = REQUEST_SECRETS_LIMIT,
         .description =
             "For credentials: environment variables that get a secret, "
             "variable name to handle, such as {\"API_KEY\": \"{{secret:my-api-key}}\"}. "
             "At most 32. The program reads the value from the variable; "
             "it is blotted out of the output."},
    [FIELD_FILES] = {.name = "files",
                     .kind = REQUEST_FIELD_FILES,
                     .limit = REQUEST_FILES_LIMIT,
                     .description =
                         "Files to put into the working directory before the program starts."},
    [FIELD_TIMEOUT_MS] = {.name = "timeout_ms",
                          .kind = REQUEST_FIELD_INTEGER,
                          .minimum = 1,
                          .maximum = REQUEST_TIMEOUT_LIMIT,
                          .description = "Wall-clock time for the run in milliseconds. The "
                                         "operator's default (usually 10000) and ceiling (usually "
                                         "300000) apply."},
    [FIELD_NETWORK] = {.name = "network",
                       .kind = REQUEST_FIELD_BOOLEAN,
                       .description = "true asks for network access. Usually not granted: leave it "
                                      "out unless the task needs it."},
    [FIELD_IMAGE] = {.name = "image",
                     .kind = REQUEST_FIELD_STRING,
                     .limit = REQUEST_IMAGE_LIMIT,
                     .description = "A key of the operator's list of images. Leave it out for the "
                                    "language's own."},
    [FIELD_SESSION] = {.name = "session",
                       .kind = REQUEST_FIELD_STRING,
                       .limit = REQUEST_SESSION_LIMIT,
                       .description = "Name of a session whose state is kept between calls. Leave "
                                      "it out: every call then starts fresh."},
    [FIELD_REASON] = {.name = "reason",
                      .kind = REQUEST_FIELD_STRING,
                      .limit = REQUEST_STRING_LIMIT,
                      .description = "One sentence for the person who approves the run: what the "
                                     "code does and why."},
};

const struct request_field *request_fields(size_t *ret_count)
{
    *ret_count = COUNT_OF(fields);
    return fields;
}

static bool is_name(const char *candidate, const char *name, size_t length)
{
    return candidate != NULL && strlen(candidate) == length && memcmp(candidate, name, length) == 0;
}

const struct request_field *request_field_find(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (is_name(fields[i].name, name, length) || is_name(fields[i].alias, name, length))
            return &fields[i];
    }
    return NULL;
}
