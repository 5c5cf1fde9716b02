/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the trial of modules: see interpreter_trial.h. The other side is interpreter/trial.py. */
#include "interpreter_trial.h"

#include <string.h>
#include <sys/types.h>

#include "../../cleanup.h"
#include "../../protocol/channel.h"
#include "interpreter_protocol.h"
#include "trusted_path.h"

struct first_process *interpreter_trial_start(const struct sandbox_shape *shape,
                                              const struct run_limits *limits,
                                              struct run_environment *environment)
{
    struct launch_failure failure;
    const struct sandbox_shape trial = sandbox_shape_of_trial(shape);
    struct first_process *process =
        first_process_of_sandbox(environment, &trial, NULL, false, &failure);
    if (process)
        first_process_limit(process, limits);
    return process;
}

static bool line_is_good(const char *line)
{
    char resolved[PATH_MAX];
    if (line[0] == '/')
        return trusted_path_walk(line, resolved) != DISTRUSTED_PATH;
    const char *outcome = strrchr(line, ' ');
    return outcome &&
           (strcmp(outcome + 1, TRIAL_CLEAN) == 0 || strcmp(outcome + 1, TRIAL_ABSENT) == 0);
}

bool interpreter_trial_was_good(const struct first_process *trial)
{
    static char message[TRIAL_LIMIT + 1];
    ssize_t length = channel_receive_now(trial->report, message, TRIAL_LIMIT);
    size_t begin = strlen(TRIAL_BEGIN);
    if (length < (ssize_t)begin || strncmp(message, TRIAL_BEGIN, begin) != 0)
        return false;
    message[length] = '\0';
    char *rest = &message[begin];
    for (char *line; (line = strsep(&rest, "\n"));)
        if (line[0] != '\0' && !line_is_good(line))
            return false;
    return true;
}
