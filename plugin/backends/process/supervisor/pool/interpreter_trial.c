/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the trial of modules: see interpreter_trial.h. The other side is interpreter/trial.py. */
#include "backends/process/supervisor/pool/interpreter_trial.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/supervisor/fork_server/trusted_path.h"
#include "base/cleanup.h"
#include "protocol/channel.h"

struct sandbox_handle *interpreter_trial_start(const struct sandbox_template *template,
                                               const struct run_limits *limits,
                                               struct run_environment *environment)
{
    struct launch_failure failure;
    struct sandbox_template trial = sandbox_template_without_copying(template);
    trial.interpreter.is_trial = true;
    struct sandbox_handle *process = sandbox_handle_make(environment, &trial, NULL, &failure);
    if (process)
        sandbox_handle_limit(process, limits);
    return process;
}

/* "MODULE OUTCOME" */
static bool outcome_is_good(const char *line)
{
    const char *space = strchr(line, ' ');
    return space && (strcmp(space + 1, TRIAL_CLEAN) == 0 || strcmp(space + 1, TRIAL_ABSENT) == 0);
}

/* All that is to be said of modules comes into one detail, as far as there is room. */
static void add_module(struct preparation_outcome *outcome, const char *line)
{
    size_t used = outcome->kind == PREPARATION_MODULES_DO_MORE ? strlen(outcome->detail) : 0;
    outcome->kind = PREPARATION_MODULES_DO_MORE;
    (void)snprintf(&outcome->detail[used], sizeof(outcome->detail) - used, "%s%s",
                   used > 0 ? "; " : "", line);
}

static void look_at_line(const char *line, struct preparation_outcome *outcome)
{
    char resolved[PATH_MAX];
    if (line[0] != '/' && !outcome_is_good(line))
        add_module(outcome, line);
    if (line[0] == '/' && outcome->kind == PREPARATION_OPEN &&
        trusted_path_walk(line, resolved) == DISTRUSTED_PATH)
        preparation_set(outcome, PREPARATION_FILE_READ, line);
}

bool interpreter_trial_was_good(const struct sandbox_handle *trial,
                                struct preparation_outcome *reterr)
{
    static char message[TRIAL_LIMIT + 1];
    struct preparation_outcome outcome = {.kind = PREPARATION_OPEN};
    ssize_t length = channel_receive_now(trial->report, message, TRIAL_LIMIT);
    size_t begin = strlen(TRIAL_BEGIN);
    *reterr = (struct preparation_outcome){.kind = PREPARATION_TRIAL};
    if (length < (ssize_t)begin || strncmp(message, TRIAL_BEGIN, begin) != 0)
        return false;
    message[length] = '\0';
    char *rest = &message[begin];
    for (char *line; (line = strsep(&rest, "\n"));)
        if (line[0] != '\0')
            look_at_line(line, &outcome);
    if (outcome.kind == PREPARATION_OPEN)
        return true;
    *reterr = outcome;
    return false;
}
