/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of a run: it takes the description and the descriptors, makes the message to the
 * container, and has the provider begin its questions. Runs in a backend of containers. */
#include "backends/guest_runs/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_input.h"
#include "backends/guest_runs/container/run_message.h"
#include "backends/guest_runs/run/run_private.h"
#include "base/cleanup.h"

#define INPUT_LIMIT RUN_DESCRIPTION_LIMIT

static bool read_description(struct run *run, int fd)
{
    return run_read_description(fd, &run->description) &&
           run->description.isolation == RUN_ISOLATION_SANDBOX;
}

/* From here on the secrets are in the message alone, and of the variables those that are the
 * policy's. */
static bool make_message(struct run *run, int input_fd)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *input =
        input_fd >= 0 ? run_read_file(input_fd, INPUT_LIMIT, &length) : NULL;
    bool made = run_message_make(&run->description, input, length, &run->job.message);
    if (input)
        explicit_bzero(input, length);
    char **own = run->description.environment + run->description.preparation.environment_count;
    for (char **variable = own; *variable; variable++)
        explicit_bzero(*variable, strlen(*variable));
    run->job.collects = run_message_collects(&run->description);
    return made;
}

static void begin_run(struct run *run, const int *fds)
{
    if (!read_description(run, fds[RUN_FD_DESCRIPTION])) {
        run_fail(run, RUN_FAILURE_DESCRIPTION, EBADMSG, "unreadable description");
        return;
    }
    if (run->description.purpose == RUN_PURPOSE_PREPARE) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOTSUP, "report the preparations");
        return;
    }
    if (!run_tools_take(run, fds[RUN_FD_TOOLS])) {
        run_fail(run, RUN_FAILURE_INTERNAL, errno, "carry calls of tools");
        return;
    }
    if (!run_endpoints_take(run, fds[RUN_FD_ENDPOINTS])) {
        run_fail(run, RUN_FAILURE_INTERNAL, errno, "carry connections to endpoints");
        return;
    }
    bool session = run_message_is_session(&run->description);
    if (session && !run_session_take(run, fds[RUN_FD_STDIN])) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOTSUP, "keep a session with the image's command");
        return;
    }
    if (!make_message(run, session ? -1 : fds[RUN_FD_STDIN])) {
        run_fail(run, RUN_FAILURE_INTERNAL, EINVAL, "make the message to the container");
        return;
    }
    run->environment->provider->begin(run);
}

struct run *run_start(struct guest_environment *environment, const int fds[RUN_FD_COUNT])
{
    struct run *run = environment->provider->new_run();
    if (!run) {
        run_refuse(fds, ENOMEM, "no memory for the run");
        return NULL;
    }
    run->environment = environment;
    run->added_cells = -1;
    for (size_t i = 0; i < JOB_PIPES; i++)
        run->job.pipes[i] = run->job.next[i] = -1;
    run->job.run = run;
    run->event = (struct run_event){
        .type = RUN_EVENT_ENDED,
        .exit_code = -1,
        .usage = {.user_us = RUN_USAGE_UNKNOWN,
                  .system_us = RUN_USAGE_UNKNOWN,
                  .peak_memory_bytes = RUN_USAGE_UNKNOWN,
                  .processes = RUN_USAGE_UNKNOWN,
                  .memory_kills = RUN_USAGE_UNKNOWN,
                  .process_refusals = RUN_USAGE_UNKNOWN},
    };
    run->socket = fds[RUN_FD_EVENTS];
    run->job.pipes[JOB_STDOUT] = fds[RUN_FD_STDOUT];
    run->job.pipes[JOB_STDERR] = fds[RUN_FD_STDERR];
    run->job.pipes[JOB_RESULTS] = fds[RUN_FD_RESULTS];
    run->job.pipes[JOB_FILES] = fds[RUN_FD_FILES];
    run->job.inputs = fds[RUN_FD_INPUTS];
    for (size_t i = 0; i < JOB_PIPES; i++)
        if (run->job.pipes[i] >= 0)
            (void)fcntl(run->job.pipes[i], F_SETFL, O_NONBLOCK);
    run->started_us = monotonic_us();
    run->deadline_us = run->started_us + CONTAINER_START_LIMIT_US;
    begin_run(run, fds);
    close_fd(fds[RUN_FD_DESCRIPTION]);
    close_fd(fds[RUN_FD_STDIN]);
    close_fd(fds[RUN_FD_TOOLS]);
    close_fd(fds[RUN_FD_ENDPOINTS]);
    return run;
}
