/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to code-execute-environment. Runs in the gateway, on the thread inside tool_invoke() or
 * tool_prepare(). */
#include "packages/package_set.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "program/backend_program.h"
#include "protocol/channel.h"
#include "json/json_input.h"

#define PROGRAM     "code-execute-environment"
#define PATIENCE_MS 600000 /* a gigabyte on a slow disk */

static bool send_order(const struct backend_program *program, const struct package_order *order,
                       const int fds[PACKAGE_FD_COUNT], struct error *error)
{
    if (channel_send(program->control, order, sizeof(*order), fds, PACKAGE_FD_COUNT) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, PROGRAM " took no order");
    return false;
}

static bool await_reply(const struct backend_program *program, struct error *error)
{
    struct pollfd entry = {.fd = program->control, .events = POLLIN};
    uint64_t deadline_ms = monotonic_ms() + PATIENCE_MS;
    int ready;
    do
        ready = poll(&entry, 1, deadline_poll_timeout(deadline_ms));
    while (ready < 0 && errno == EINTR);
    if (ready > 0)
        return true;
    error_set(error, ERROR_BACKEND_FAILED, PROGRAM " did not answer in time");
    return false;
}

static json_t *receive_reply(const struct backend_program *program, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = PACKAGE_REPLY_LIMIT,
                                                    .max_depth = 2};
    char reply[PACKAGE_REPLY_LIMIT];
    size_t fd_count = 0;
    ssize_t length = channel_receive(program->control, reply, sizeof(reply), NULL, 0, &fd_count);
    if (length <= 0) {
        error_set(error, ERROR_BACKEND_FAILED, PROGRAM " has ended without an answer");
        return NULL;
    }
    return json_input_parse(PROGRAM, reply, (size_t)length, &limits, ERROR_BACKEND_FAILED, error);
}

/* Takes the answer, where it is one of success. */
static json_t *judge(json_t *answer, enum package_action action,
                     const struct policy_environment *environment, enum error_code code,
                     struct error *error)
{
    const char *why = json_string_value(json_object_get(answer, "error"));
    const char *path =
        json_string_value(json_object_get(answer, action == PACKAGE_INSTALL ? "path" : "changed"));
    if (!why)
        return json_incref(answer);
    error_set(error, code, "the environment \"%s\": %.200s%s%.160s", environment->name,
              path ? path : "", path ? ": " : "", why);
    if (code == ERROR_ENVIRONMENT_CHANGED)
        error_set_hint(error,
                       "leave packages out, or ask the operator to run: toolhost env build %s",
                       environment->name);
    return NULL;
}

json_t *package_program_ask(enum package_action action,
                            const struct policy_environment *environment, int directory,
                            int archive, enum error_code code, struct error *error)
{
    const struct package_order order = {
        .action = action, .bytes = environment->bytes, .inodes = environment->inodes};
    CLEANUP_CLOSE int nothing = archive < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    const int fds[PACKAGE_FD_COUNT] = {
        [PACKAGE_FD_DIRECTORY] = directory, [PACKAGE_FD_ARCHIVE] = archive < 0 ? nothing : archive};
    CLEANUP(backend_program_stop) struct backend_program program = BACKEND_PROGRAM_NONE;
    if (backend_program_start(PROGRAM, &program, error) != 0 ||
        !send_order(&program, &order, fds, error) || !await_reply(&program, error))
        return NULL;
    json_auto_t *answer = receive_reply(&program, error);
    return answer ? judge(answer, action, environment, code, error) : NULL;
}
