/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what begins a program: see guest_program.h. Runs in the guest. */
#include "guest/program/guest_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "guest/channels/guest_tools.h"
#include "guest/program/guest_node.h"
#include "guest/program/guest_python.h"
#include "guest/program/guest_tool_command.h"

#define OWN_PROGRAM  "/proc/self/exe"
#define BEFORE_SHELL 3 /* our own name, START_SHELL, the shell's path */

/* What begins without it takes no cell, and has no module of tools. */
static bool needs_script(const struct guest_run *run)
{
    return run->runner < RUN_INTERPRETER_COUNT &&
           (run->session || (run->has_tools && run->runner != RUN_INTERPRETER_NONE));
}

/* With what begins the program by a script of ours, where there is one for it. *ret_script: of
 * struct program_order. NULL with errno, also where there is no room for a script that it needs. */
static char **make_environment(const struct guest_run *run, int *ret_script)
{
    *ret_script = -1;
    if (run->has_command)
        return tool_command_environment(run->environment);
    bool tells = run->has_results && !run->trial && program_may_have_results();
    if (tells && run->runner == RUN_INTERPRETER_PYTHON && python_write_script())
        return python_environment(run->environment, PYTHON_BEGINS);
    if (tells && run->runner == RUN_INTERPRETER_NODE)
        *ret_script = node_write_script();
    if (needs_script(run) && *ret_script < 0) {
        errno = tells ? errno : EMFILE;
        return NULL;
    }
    return *ret_script >= 0 ? node_environment(run->environment)
                            : program_environment(run->environment);
}

/* *ret: the end of a program whose run has tools. */
static bool open_tools(const struct guest_run *run, int *ret, const char **ret_problem)
{
    if (!run->has_tools)
        return true;
    *ret_problem = TOOLS_NEED_DESCRIPTORS;
    if (!program_may_have_results())
        return false;
    *ret_problem = "make the socket for answers of tools";
    *ret = tools_open();
    return *ret >= 0;
}

/* New list of borrowed strings; NULL: no memory. */
static char **shell_arguments(char *path, char *const *shell)
{
    static char name[] = "code-execute-shell";
    static char word[] = START_SHELL;
    size_t count = string_list_count(shell);
    char **arguments = calloc(BEFORE_SHELL + count + 1, sizeof(*arguments));
    if (!arguments)
        return NULL;
    arguments[0] = name;
    arguments[1] = word;
    arguments[2] = path;
    memcpy(&arguments[BEFORE_SHELL], shell, count * sizeof(*arguments));
    return arguments;
}

enum start_outcome start_program(const struct guest_run *run, int input, struct guest_program *ret,
                                 const char **ret_problem)
{
    static char problem[PATH_MAX + 128];
    char path[PATH_MAX];
    CLEANUP_CLOSE int script = -1;
    CLEANUP_CLOSE int addon = -1;
    CLEANUP_CLOSE int tools = -1;
    CLEANUP_FREE char **shell = NULL;
    CLEANUP_FREE char **searched = program_environment(run->environment);
    *ret_problem = "compose the environment";
    if (!searched)
        return START_FAILED;
    if (!program_find(run->argv[0], searched, path))
        return START_MISSING;
    if (run->trial)
        return START_DONE;
    if (!open_tools(run, &tools, ret_problem))
        return START_FAILED;
    CLEANUP_FREE char **environment = make_environment(run, &script);
    if (!environment) {
        (void)snprintf(problem, sizeof(problem), "write what begins %.100s: %s", path,
                       strerror(errno));
        *ret_problem = problem;
        return START_FAILED;
    }
    if (run->session && run->runner == RUN_INTERPRETER_NODE && (addon = node_open_addon()) < 0) {
        *ret_problem = "make the interpreter's extension";
        return START_FAILED;
    }
    bool is_shell = run->session && run->runner == RUN_RUNNER_SHELL;
    *ret_problem = "compose the arguments";
    if (is_shell && !(shell = shell_arguments(path, run->argv)))
        return START_FAILED;
    const struct program_order order = {
        .path = is_shell ? OWN_PROGRAM : path,
        .argv = is_shell ? shell : run->argv,
        .environment = environment,
        .input = input,
        .has_results = run->has_results,
        .script = script,
        .addon = addon,
        .tools = tools,
        .file_bytes = run->file_bytes,
    };
    if (program_start(&order, ret))
        return START_DONE;
    (void)snprintf(problem, sizeof(problem), "execute %.100s: %s", path, strerror(errno));
    *ret_problem = problem;
    return START_FAILED;
}
