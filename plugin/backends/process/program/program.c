/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look-up of the runtime and the environment: see program.h. */
#include "backends/process/program/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/program/main_program.h"
#include "base/cleanup.h"
#include "base/string_list.h"

const struct program_places program_mounted_places = {.home = RUN_HOME, .temporary = "/tmp"};

static bool is_executable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

int program_find_path(const char *name, char *const *directories, char ret[PATH_MAX])
{
    if (name[0] == '/') {
        if ((size_t)snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX && is_executable(ret))
            return 0;
    } else if (!strchr(name, '/')) {
        for (; *directories; directories++)
            if ((size_t)snprintf(ret, PATH_MAX, "%s/%s", *directories, name) < PATH_MAX &&
                is_executable(ret))
                return 0;
    }
    errno = ENOENT;
    return -1;
}

const char *program_variable_value(const char *variable, const char *name)
{
    size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=' ? &variable[length + 1]
                                                                           : NULL;
}

const char *program_find_variable(char *const *environment, const char *name)
{
    const char *value = NULL;
    for (; !value && *environment; environment++)
        value = program_variable_value(*environment, name);
    return value;
}

int program_compose_environment(struct program *program, char *const *given,
                                const struct program_places *places)
{
    const char *const added[PROGRAM_ADDED_VARIABLES][2] = {
        {"HOME", places->home},
        {"TMPDIR", places->temporary},
        {"USER", "sandbox"},
        {"PWD", places->home},
    };
    size_t count = string_list_count(given);
    program->environment = calloc(count + PROGRAM_ADDED_VARIABLES + 1, sizeof(char *));
    if (!program->environment)
        return -1;
    for (size_t i = 0; i < count; i++)
        program->environment[i] = given[i];
    for (size_t i = 0; i < PROGRAM_ADDED_VARIABLES; i++) {
        if (program_find_variable(given, added[i][0]))
            continue;
        (void)snprintf(program->added[i], sizeof(program->added[i]), "%s=%s", added[i][0],
                       added[i][1]);
        program->environment[count++] = program->added[i];
    }
    return 0;
}

int program_find(struct program *program, const struct run_description *description,
                 const struct program_places *places)
{
    if (program_find_path(description->argv[0], description->runtime_path, program->path) < 0)
        return -1;
    return program_compose_environment(program, description->environment, places);
}

/* The variable by which an interpreter finds our scripts, and what stands there before the
 * description's own text. NULL name: it has none. */
struct runner_variable {
    const char *name;
    const char *begin; /* before the directory, and behind it */
    const char *end;
    const char *separator;
};

static const struct runner_variable runner_variables[RUN_RUNNER_COUNT] = {
    [RUN_INTERPRETER_PYTHON] = {"PYTHONPATH", "", "", ":"},
    [RUN_INTERPRETER_NODE] = {"NODE_OPTIONS", "--require=\"", "/preload.js\"", " "},
};

/* The description's own text behind ours; NULL: no memory. */
static char *compose_runner_variable(const struct runner_variable *variable, const char *own,
                                     const char *directory)
{
    char *whole;
    if (asprintf(&whole, "%s=%s%s%s%s%s", variable->name, variable->begin, directory, variable->end,
                 own ? variable->separator : "", own ? own : "") < 0)
        return NULL;
    return whole;
}

int program_add_runner(struct program *program, const struct run_description *description,
                       const char *directory)
{
    static char begin[] = "CODE_EXECUTE_INTERPRETER=begin";
    static char no_bytecode[] = "PYTHONDONTWRITEBYTECODE=code-execute"; /* beside our scripts */
    uint32_t runner = description->preparation.runner;
    const struct runner_variable *variable = &runner_variables[runner];
    if (!variable->name || !description->results || !directory || strpbrk(directory, "\"\\") ||
        access(directory, X_OK) < 0)
        return 0;
    const char *own = program_find_variable(program->environment, variable->name);
    char *path = compose_runner_variable(variable, own, directory);
    size_t count = string_list_count(program->environment);
    char **environment = calloc(count + 4, sizeof(*environment));
    if (!environment || !path)
        return -1;
    size_t used = 0;
    for (char **given = program->environment; *given; given++)
        if (!program_variable_value(*given, variable->name))
            environment[used++] = *given;
    environment[used++] = path;
    environment[used++] = begin;
    if (runner == RUN_INTERPRETER_PYTHON && access(directory, W_OK) == 0 &&
        !program_find_variable(program->environment, "PYTHONDONTWRITEBYTECODE"))
        environment[used++] = no_bytecode;
    program->environment = environment;
    return 0;
}

/* The list has room for one more. */
static void replace_variable(char **environment, const char *name, char *variable)
{
    for (; *environment; environment++)
        if (program_variable_value(*environment, name))
            break;
    *environment = variable;
}

/* The directory ahead of those that the variable names; usual: where it is not there, or NULL. */
static int put_ahead(struct program *program, const char *name, const char *directory,
                     const char *usual)
{
    const char *own = program_find_variable(program->environment, name);
    const char *rest = own ? own : usual;
    size_t count = string_list_count(program->environment);
    char **environment = calloc(count + 2, sizeof(*environment));
    char *path;
    bool has_more = rest && rest[0]; /* an empty one would be the working directory */
    if (!environment || asprintf(&path, "%s=%s%s%s", name, directory, has_more ? ":" : "",
                                 has_more ? rest : "") < 0) {
        free(environment);
        return -1;
    }
    memcpy(environment, program->environment, count * sizeof(*environment));
    replace_variable(environment, name, path);
    program->environment = environment; /* as long as this process */
    return 0;
}

int program_add_directory(struct program *program, const struct run_description *description,
                          const char *directory)
{
    CLEANUP_FREE char *usual = string_list_join(description->runtime_path, ':');
    return usual ? put_ahead(program, "PATH", directory, usual) : -1;
}

/* A Python whose search path would show it: none of our scripts takes it away again. */
static bool is_plain_python(const struct run_description *description)
{
    const char *slash = strrchr(description->argv[0], '/');
    bool is_python =
        strncmp(slash ? slash + 1 : description->argv[0], "python", strlen("python")) == 0;
    return is_python &&
           (description->preparation.runner != RUN_INTERPRETER_PYTHON || !description->results);
}

int program_add_installers(struct program *program, const struct run_description *description,
                           const char *directory)
{
    if (!description->installer_commands || !directory || access(directory, X_OK) < 0)
        return 0;
    if (program_add_directory(program, description, directory) < 0)
        return -1;
    return is_plain_python(description) ? 0 : put_ahead(program, "PYTHONPATH", directory, NULL);
}

_Noreturn void program_report_missing(int report, const struct run_description *description)
{
    if (errno == ENOENT)
        main_program_fail(report, RUN_FAILURE_RUNTIME_MISSING, ENOENT, description->argv[0]);
    main_program_fail(report, RUN_FAILURE_INTERNAL, errno, "compose the environment");
}

/* INT_MAX: there is none. */
static int next_kept(const int *kept, size_t count, int above)
{
    int next = INT_MAX;
    for (size_t i = 0; i < count; i++)
        if (kept[i] > above && kept[i] < next)
            next = kept[i];
    return next;
}

int program_close_other_descriptors(const int *kept, size_t count)
{
    int last = STDERR_FILENO;
    for (int next; (next = next_kept(kept, count, last)) != INT_MAX; last = next)
        if (next > last + 1 && close_range((unsigned int)last + 1, (unsigned int)next - 1, 0) < 0)
            return -1;
    return close_range((unsigned int)last + 1, ~0U, 0);
}

void program_tell_ready(int report_socket, int supervisor, const struct run_limits *limits,
                        const struct isolation_report *isolation)
{
    struct report report = {.kind = REPORT_READY, .isolation = *isolation, .limits = *limits};
    /* Without init and supervisor the program would have no deadline and no answer to forbidden
     * calls. Both are told before the program begins, however soon the run is ended. */
    if (!report_send(report_socket, &report) || !report_send(supervisor, &report))
        main_program_fail(report_socket, RUN_FAILURE_INTERNAL, errno, "report the start");
}

_Noreturn void program_execute(const struct program *program,
                               const struct run_description *description, int report_socket,
                               int supervisor, const struct isolation_report *isolation)
{
    program_tell_ready(report_socket, supervisor, &description->limits, isolation);
    if (description->purpose == RUN_PURPOSE_TRIAL)
        _exit(0);
    (void)execve(program->path, description->argv, program->environment);
    main_program_fail(report_socket, RUN_FAILURE_EXEC, errno, description->argv[0]);
}
