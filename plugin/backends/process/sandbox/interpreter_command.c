/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the files, arguments and variables: see interpreter_command.h. The files are read in the
 * supervisor, before it clones. */
#include "backends/process/sandbox/interpreter_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/program/program.h"
#include "base/cleanup.h"
#include "base/string_list.h"

/* Python runs files that it finds in the home directory (site): here there are none. */
#define NO_HOME "/nonexistent"

/* Variables that are added for every interpreter, and for Python. */
#define ADDED           5
#define ADDED_OF_PYTHON 9

#define FILE_LIMIT (UINT32_C(8) << 20)

static struct interpreter_file interpreters[RUN_RUNNER_COUNT][16] = {
    [RUN_INTERPRETER_PYTHON] = {{.name = "sitecustomize.py"},
                                {.name = "code_execute_python.so"},
                                {.name = "charts.py"},
                                {.name = "figures.py"},
                                {.name = "images.py"},
                                {.name = "imports.py"},
                                {.name = "program_code.py"},
                                {.name = "results.py"},
                                {.name = "session.py"},
                                {.name = "specifications.py"},
                                {.name = "tables.py"},
                                {.name = "tool_channel.py"},
                                {.name = "tools.py"},
                                {.name = "trial.py"},
                                {.name = "waiting.py"}},
    [RUN_INTERPRETER_NODE] = {{.name = "preload.js"},
                              {.name = "import_calls.js"},
                              {.name = "last_expression.js"},
                              {.name = "results.js"},
                              {.name = "session.js"},
                              {.name = "session_streams.js"},
                              {.name = "tool_channel.js"},
                              {.name = "tools.js"},
                              {.name = "code_execute_node.node"}},
    [RUN_RUNNER_SHELL] = {{.name = SHELL_PROGRAM, .executable = true}},
};

static struct interpreter_file tool_command[] = {{.name = TOOL_COMMAND, .executable = true},
                                                 {.name = NULL}};

static struct interpreter_file installers[] = {
    {.name = INSTALLERS "/pip", .executable = true}, {.name = INSTALLERS "/pip.py"},
    {.name = INSTALLERS "/conda", .link = "pip"},    {.name = INSTALLERS "/npm", .link = "pip"},
    {.name = INSTALLERS "/npx", .link = "pip"},      {.name = INSTALLERS "/pip3", .link = "pip"},
    {.name = INSTALLERS "/pnpm", .link = "pip"},     {.name = INSTALLERS "/uv", .link = "pip"},
    {.name = INSTALLERS "/yarn", .link = "pip"},     {.name = NULL},
};

static char files_directory[PATH_MAX];

void interpreter_files_are_in(const char *directory)
{
    (void)snprintf(files_directory, sizeof(files_directory), "%s", directory);
}

const char *interpreter_files_directory(void)
{
    char program[PATH_MAX];
    if (files_directory[0] != '\0')
        return files_directory;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    if ((size_t)snprintf(files_directory, sizeof(files_directory), "%s/interpreter", program) <
        sizeof(files_directory))
        return files_directory;
    files_directory[0] = '\0';
    return NULL;
}

static bool read_file(const char *directory, struct interpreter_file *file)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, file->name) >= sizeof(path))
        return false;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        file->content = run_read_file(fd, FILE_LIMIT, &file->length);
    return file->content != NULL;
}

static const struct interpreter_file *read_files(struct interpreter_file *files)
{
    const char *directory = interpreter_files_directory();
    errno = ENOENT;
    if (!directory)
        return NULL;
    for (struct interpreter_file *file = files; file->name; file++)
        if (!file->link && !file->content && !read_file(directory, file))
            return NULL;
    return files;
}

const struct interpreter_file *interpreter_files(uint32_t kind)
{
    errno = ENOENT;
    if (kind == RUN_INTERPRETER_NONE || kind >= RUN_RUNNER_COUNT)
        return NULL;
    return read_files(interpreters[kind]);
}

const struct interpreter_file *interpreter_tool_command(void)
{
    return read_files(tool_command);
}

const struct interpreter_file *interpreter_installers(void)
{
    return read_files(installers);
}

/* Node needs an option to load our script before its program; Python looks for one by itself. An
 * interpreter that is copied is given the full path of its program, as it starts in another
 * directory. */
char **interpreter_arguments(const struct interpreter_template *interpreter,
                             const struct interpreter_place *place)
{
    static char option[] = "--require";
    size_t count = string_list_count(interpreter->argv);
    char **arguments = calloc(count + 3, sizeof(*arguments));
    if (!arguments)
        return NULL;
    size_t used = 0;
    arguments[used++] = interpreter->argv[0];
    if (interpreter->kind == RUN_INTERPRETER_NODE) {
        arguments[used++] = option;
        if (!place->files || asprintf(&arguments[used++], "%s/preload.js", place->files) < 0)
            return NULL;
    }
    memcpy(&arguments[used], &interpreter->argv[1], (count - 1) * sizeof(*arguments));
    char **program = &arguments[used - 1 + interpreter->program_argument];
    if (interpreter->fork && asprintf(program, "%s/%s", place->home, *program) < 0)
        return NULL;
    return arguments;
}

static bool is_one_of(const char *const names[][2], size_t count, const char *variable)
{
    for (size_t i = 0; i < count; i++)
        if (program_variable_value(variable, names[i][0]))
            return true;
    return false;
}

/* Our files, before the policy's own PYTHONPATH. */
static char *compose_path(const struct interpreter_template *interpreter, const char *files)
{
    const char *own = program_find_variable(interpreter->environment, "PYTHONPATH");
    char *path;
    if (!files || asprintf(&path, "%s%s%s", files, own && own[0] ? ":" : "", own ? own : "") < 0)
        return NULL;
    return path;
}

char **interpreter_environment(const struct interpreter_template *interpreter,
                               const struct interpreter_place *place, const char *trusted)
{
    CLEANUP_FREE char *modules = string_list_join(interpreter->modules, ',');
    CLEANUP_FREE char *named = string_list_join(interpreter->named_modules, ',');
    CLEANUP_FREE char *path = compose_path(interpreter, place->files);
    char **environment =
        string_list_new(string_list_count(interpreter->environment) + ADDED_OF_PYTHON);
    if (!environment || !modules || !named || !path)
        return NULL;
    const char *const added[ADDED_OF_PYTHON][2] = {
        {"HOME", interpreter->fork ? NO_HOME : place->home},
        {"CODE_EXECUTE_INTERPRETER", interpreter->fork       ? "copy"
                                     : interpreter->is_trial ? "trial"
                                                             : "wait"},
        {"CODE_EXECUTE_IMPORT", modules},
        {"CODE_EXECUTE_PROGRAM", interpreter->argv[interpreter->program_argument]},
        {"CODE_EXECUTE_HOME", place->home},
        {"CODE_EXECUTE_IMPORT_NAMED", named},
        {"CODE_EXECUTE_TRUSTED", trusted},
        {"PYTHONPATH", path},
        {"PYTHONDONTWRITEBYTECODE", "1"},
    };
    size_t added_count = interpreter->kind == RUN_INTERPRETER_PYTHON ? ADDED_OF_PYTHON : ADDED;
    size_t used = 0;
    for (char **variable = interpreter->environment; *variable; variable++)
        if (!is_one_of(added, added_count, *variable))
            environment[used++] = *variable;
    for (size_t i = 0; i < added_count; i++)
        if (asprintf(&environment[used++], "%s=%s", added[i][0], added[i][1]) < 0)
            return NULL;
    return environment;
}
