/* SPDX-License-Identifier: Apache-2.0 */
/* Owns an interpreter that waits: see guest_interpreter.h. Runs in the guest. */
#include "guest/program/guest_interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "guest/channels/guest_tools.h"
#include "guest/messages/guest_input.h"
#include "guest/program/guest_python.h"
#include "protocol/run_description.h"

#define TOLD_WAITING 'w'
#define TOLD_BEGINS  'b'

/* Its first word must be the expected one. */
static bool hear(int told, char expected)
{
    char word = '\0';
    while (read(told, &word, sizeof(word)) < 0 && errno == EINTR)
        ;
    return word == expected;
}

/* What it has printed while it made itself ready is no output of a program. */
static void drop_output(const struct guest_program *program)
{
    char dropped[4096];
    for (size_t i = 0; i < COUNT_OF(program->outputs); i++)
        while (read(program->outputs[i], dropped, sizeof(dropped)) > 0)
            ;
}

static const char *explain(const struct guest_program *program)
{
    static char text[200] = "the interpreter that was started ahead of the run has ended: ";
    size_t length = strlen(text);
    ssize_t count =
        read(program->outputs[PROGRAM_STDERR], text + length, sizeof(text) - 1 - length);
    text[length + (count > 0 ? (size_t)count : 0)] = '\0';
    return text;
}

/* Both pipes, and what the interpreter gets of them. */
static bool open_ends(struct guest_interpreter *interpreter, int ret_inherited[GUEST_INHERITED])
{
    int run[2];
    int told[2];
    interpreter->input = input_make_file();
    if (interpreter->input < 0 || pipe2(run, O_CLOEXEC) < 0 || pipe2(told, O_CLOEXEC) < 0)
        return false;
    interpreter->run = run[1];
    interpreter->told = told[0];
    ret_inherited[GUEST_INTERPRETER_RUN - STDERR_FILENO - 1] = run[0];
    ret_inherited[GUEST_INTERPRETER_TOLD - STDERR_FILENO - 1] = told[1];
    ret_inherited[GUEST_INTERPRETER_INPUT - STDERR_FILENO - 1] = interpreter->input;
    return true;
}

static const char *start(char *const *command, char *const *environment, const char *path,
                         struct guest_interpreter *interpreter)
{
    int inherited[GUEST_INHERITED];
    CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP_CLOSE int tools = program_may_have_results() ? tools_open() : -1;
    if (null < 0 || !open_ends(interpreter, inherited))
        return "make the pipes of the interpreter";
    if (tools < 0 && program_may_have_results())
        return "make the socket for answers of tools";
    const struct program_order order = {
        .path = path,
        .argv = command,
        .environment = environment,
        .input = null,
        .has_results = true,
        .inherited = inherited,
        .script = -1,
        .addon = -1,
        .tools = tools,
    };
    bool started = program_start(&order, &interpreter->program);
    close_fd(inherited[0]);
    close_fd(inherited[1]);
    if (!started)
        return "start the interpreter";
    if (!hear(interpreter->told, TOLD_WAITING))
        return explain(&interpreter->program);
    drop_output(&interpreter->program);
    return NULL;
}

const char *interpreter_start(char *const *arguments, struct guest_interpreter *ret)
{
    char path[PATH_MAX];
    char *const *variables = arguments;
    size_t count = 0;
    while (variables[count] && strcmp(variables[count], "--") != 0)
        count++;
    char *const *command = variables + count + 1;
    if (!variables[count] || !*command)
        return "read the interpreter's command line";
    CLEANUP_FREE char **given = calloc(count + 1, sizeof(char *));
    if (!given)
        return "compose the interpreter's environment";
    memcpy(given, variables, count * sizeof(char *));
    CLEANUP_FREE char **environment = python_environment(given, PYTHON_WAITS);
    if (!environment)
        return "compose the interpreter's environment";
    if (!program_find(command[0], environment, path) || !python_write_script())
        return NULL;
    return start(command, environment, path, ret);
}

bool interpreter_hand_over(struct guest_interpreter *interpreter, const struct guest_run *run)
{
    struct wire_writer writer = {.limit = GUEST_HEAD_LIMIT};
    wire_put_strings(&writer, run->environment);
    wire_put_strings(&writer, run->argv);
    wire_put_u32(&writer, run->has_input);
    wire_put_u32(&writer, run->has_results);
    wire_put_u32(&writer, run->has_tools);
    bool begins = !writer.failed && write_fully(interpreter->run, writer.bytes, writer.length) &&
                  hear(interpreter->told, TOLD_BEGINS);
    if (writer.bytes)
        explicit_bzero(writer.bytes, writer.length);
    free(writer.bytes);
    close_fd(TAKE_FD(interpreter->run));
    close_fd(TAKE_FD(interpreter->told));
    close_fd(TAKE_FD(interpreter->input));
    return begins;
}
