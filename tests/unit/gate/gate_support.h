/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole calls through the exports, under a policy of the test's own. For programs that have
 * provider.c and fake_backend.c beside them.
 */
#pragma once

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/result_schema.h"
#include "tool_provider.h"

/* tool_prepare() with the policy in a file, and further members of the configuration. */
static inline int32_t prepare_policy(const char *policy, const char *members, char **ret_status)
{
    char path[] = P_tmpdir "/test-gate-XXXXXX";
    char configuration[256];
    size_t length = strlen(policy);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, policy, length), (ssize_t)length);
    (void)close(fd);
    (void)snprintf(configuration, sizeof(configuration), "{\"policy_file\":\"%s\",%s}", path,
                   members);
    int32_t code = tool_prepare(configuration, ret_status);
    (void)unlink(path);
    return code;
}

/* Has the policy in force, with that sandbox mode. */
static inline void configure_policy(const char *policy, const char *sandbox)
{
    char members[64];
    (void)snprintf(members, sizeof(members), "\"sandbox\":\"%s\"", sandbox);
    ck_assert_int_eq(prepare_policy(policy, members, NULL), TOOL_OK);
}

/* The result, which fits the output schema; a new reference. */
static inline json_t *invoke(const char *tool, const char *input, const struct tool_host *host,
                             int32_t wanted)
{
    char *output = NULL;
    struct result_fault fault;
    int32_t code = tool_invoke(tool, input, host, &output);
    ck_assert_msg(code == wanted, "%d instead of %d: %s", code, wanted, output);
    json_t *result = json_loads(output, 0, NULL);
    ck_assert_msg(result_fits(result, &fault), "%s", fault.text);
    tool_free(output);
    return result;
}

/* "": there is none. */
static inline const char *error_code_of(const json_t *result)
{
    const char *code = json_string_value(json_object_get(json_object_get(result, "error"), "code"));
    return code != NULL ? code : "";
}
