/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the message with a run to its container: see run_message.h. Runs in a backend of containers.
 */
#include "backends/guest_runs/container/run_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "guest/messages/guest_protocol.h"
#include "protocol/wire.h"

static const char *const added[] = {"HOME=" RUN_HOME, "TMPDIR=/tmp", "USER=sandbox",
                                    "PWD=" RUN_HOME};

static bool is_name(const char *variable)
{
    size_t length = strspn(variable, ASCII_ALPHANUMERIC "_");
    return length > 0 && !ascii_is_digit(variable[0]) && variable[length] == '=';
}

static bool has_variable(char *const *environment, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;
    for (; *environment; environment++)
        if (strncmp(*environment, variable, length) == 0)
            return true;
    return false;
}

/* The given variables, and those that every program has. New list of borrowed strings; NULL where
 * one has no valid name, or when out of memory. */
static char **compose_environment(char *const *given)
{
    static char *const nothing[] = {NULL};
    char *const *environment = given ? given : nothing;
    size_t count = 0;
    while (environment[count])
        if (!is_name(environment[count++]))
            return NULL;
    char **list = calloc(count + COUNT_OF(added) + 1, sizeof(char *));
    if (!list)
        return NULL;
    memcpy(list, environment, count * sizeof(char *));
    for (size_t i = 0; i < COUNT_OF(added); i++)
        if (!has_variable(environment, added[i]))
            list[count++] = (char *)(uintptr_t)added[i];
    return list;
}

/* New list of borrowed strings, NULL when out of memory. */
static char **paths_of(const struct run_description *description)
{
    CLEANUP_FREE char **paths = calloc(description->file_count + 1, sizeof(char *));
    for (size_t i = 0; paths && i < description->file_count; i++)
        paths[i] = description->files[i].path;
    return TAKE_POINTER(paths);
}

bool run_message_is_for(enum run_interpreter interpreter, const char *command)
{
    static const char *const names[RUN_RUNNER_COUNT] = {
        [RUN_INTERPRETER_PYTHON] = "python", [RUN_INTERPRETER_NODE] = "node"};
    const char *slash = strrchr(command, '/');
    const char *begin = names[interpreter];
    if (interpreter == RUN_RUNNER_SHELL)
        return true;
    return begin && strncmp(slash ? slash + 1 : command, begin, strlen(begin)) == 0;
}

bool run_message_has_runner(const struct run_description *description)
{
    enum run_interpreter runner = description->preparation.runner;
    return runner != RUN_INTERPRETER_NONE && run_message_is_for(runner, description->argv[0]);
}

static void wipe_writer(struct wire_writer *writer)
{
    if (writer->bytes)
        explicit_bzero(writer->bytes, writer->length);
    free(writer->bytes);
}

static void put_content(struct wire_writer *message, const unsigned char *bytes, size_t length)
{
    wire_put_u64(message, length);
    wire_put_raw(message, bytes, length);
}

bool run_message_collects(const struct run_description *description)
{
    return description->purpose == RUN_PURPOSE_PROGRAM && description->outputs.files > 0;
}

bool run_message_is_session(const struct run_description *description)
{
    return description->purpose == RUN_PURPOSE_PROGRAM && description->session.idle_ms > 0;
}

static void put_head(struct wire_writer *head, const struct run_description *description,
                     bool has_input)
{
    CLEANUP_FREE char **environment = compose_environment(description->environment);
    CLEANUP_FREE char **paths = paths_of(description);
    enum run_interpreter runner = description->preparation.runner;
    const struct guest_run run = {
        .trial = description->purpose == RUN_PURPOSE_TRIAL,
        .has_input = has_input,
        .has_results = description->results,
        .has_tools = description->tools,
        .has_command = description->tool_command,
        .has_installers = description->installer_commands,
        .has_endpoints = description->endpoints,
        .session = run_message_is_session(description),
        .runner = run_message_is_for(runner, description->argv[0]) ? runner : 0,
        .private_file_count = description->private_file_count,
        .argv = description->argv,
        .environment = environment,
        .paths = paths,
        .outputs = run_message_collects(description) ? description->outputs
                                                     : (struct run_outputs){.files = 0},
        .file_bytes = description->limits.file_bytes,
    };
    if (environment && paths)
        guest_run_write(head, &run);
    else
        head->failed = true;
}

static size_t length_of(const struct run_description *description, size_t head_length,
                        bool has_input, size_t input_length)
{
    size_t length = 2 * sizeof(uint32_t) + head_length;
    for (size_t i = 0; i < description->file_count; i++) {
        const struct run_file *file = &description->files[i];
        length += sizeof(uint64_t) + (file->by_reference ? 0 : file->length);
    }
    return has_input ? length + sizeof(uint64_t) + input_length : length;
}

static void put_files(struct wire_writer *writer, const struct run_description *description,
                      struct run_message *message)
{
    for (size_t i = 0; i < description->file_count; i++) {
        const struct run_file *file = &description->files[i];
        if (!file->by_reference) {
            put_content(writer, file->content, file->length);
            continue;
        }
        wire_put_u64(writer, file->length);
        message->gaps[message->gap_count++] =
            (struct run_message_gap){writer->length, file, (uint32_t)i};
    }
}

/* order: ahead of it; 0: none. */
static bool make_message(char order, const struct wire_writer *head,
                         const struct run_description *description, const unsigned char *input,
                         size_t input_length, struct run_message *ret)
{
    CLEANUP(run_message_clear) struct run_message message = {.bytes = NULL};
    bool has_input = input && input_length > 0;
    if (head->failed)
        return false;
    size_t length =
        (order ? sizeof(order) : 0) + length_of(description, head->length, has_input, input_length);
    message.bytes = malloc(length);
    message.gaps = calloc(description->file_count + 1, sizeof(*message.gaps));
    if (!message.bytes || !message.gaps)
        return false;
    struct wire_writer writer = {.bytes = message.bytes, .capacity = length, .limit = length};
    if (order)
        wire_put_raw(&writer, &order, sizeof(order));
    wire_put_bytes(&writer, head->bytes, head->length);
    put_files(&writer, description, &message);
    if (has_input)
        put_content(&writer, input, input_length);
    wire_put_u32(&writer, GUEST_MESSAGE_END);
    message.length = writer.length;
    *ret = message;
    message = (struct run_message){.bytes = NULL};
    return true;
}

/* The shell and its options, for a shell's session, which has no program. New list of borrowed
 * strings; NULL when out of memory, or without a shell. */
static char **shell_of(const struct run_description *description)
{
    size_t count = description->preparation.program_argument;
    if (count == 0 || count >= string_list_count(description->argv))
        return NULL;
    char **shell = calloc(count + 1, sizeof(*shell));
    if (shell)
        memcpy(shell, description->argv, count * sizeof(*shell));
    return shell;
}

static bool make_run(char order, const struct run_description *description,
                     const unsigned char *input, size_t input_length, struct run_message *ret)
{
    CLEANUP(wipe_writer) struct wire_writer head = {.limit = GUEST_HEAD_LIMIT};
    CLEANUP_FREE char **shell = NULL;
    struct run_description told = *description;
    if (run_message_is_session(description) &&
        description->preparation.runner == RUN_RUNNER_SHELL) {
        shell = shell_of(description);
        if (!shell)
            return false;
        told.argv = shell;
        told.file_count = 0;
    }
    put_head(&head, &told, input && input_length > 0);
    return make_message(order, &head, &told, input, input_length, ret);
}

bool run_message_make(const struct run_description *description, const unsigned char *input,
                      size_t input_length, struct run_message *ret)
{
    return make_run(0, description, input, input_length, ret);
}

bool run_message_make_program(const struct run_description *description, struct run_message *ret)
{
    return make_run(GUEST_ORDER_PROGRAM, description, NULL, 0, ret);
}

static void put_cell_head(struct wire_writer *head, const struct run_description *description,
                          bool has_input)
{
    const struct run_preparation *started = &description->preparation;
    CLEANUP_FREE char **paths = paths_of(description);
    const struct guest_run cell = {
        .has_input = has_input,
        .has_results = 1,
        .has_tools = description->tools,
        .session = 1,
        .lasting = description->session.lasting_variables,
        .checkpoints = (uint32_t)description->session.checkpoints,
        .private_file_count = description->private_file_count,
        .argv = description->argv + started->argument_count - 1,
        .environment = description->environment + started->environment_count,
        .paths = paths,
    };
    if (paths)
        guest_run_write(head, &cell);
    else
        head->failed = true;
}

static bool has_shape_of_cell(const struct run_description *description)
{
    const struct run_preparation *started = &description->preparation;
    size_t arguments = string_list_count(description->argv);
    return started->argument_count > 0 && started->argument_count <= arguments &&
           started->environment_count <= string_list_count(description->environment) &&
           started->program_argument < arguments && description->file_count > 0 &&
           !description->files[0].by_reference &&
           strcmp(description->files[0].path, description->argv[started->program_argument]) == 0;
}

bool run_message_make_cell(const struct run_description *description, size_t program,
                           const unsigned char *input, size_t input_length, struct run_message *ret)
{
    CLEANUP(wipe_writer) struct wire_writer head = {.limit = GUEST_HEAD_LIMIT};
    if (!has_shape_of_cell(description))
        return false;
    put_cell_head(&head, description, input && input_length > 0);
    return make_message((char)(GUEST_ORDER_CELL + program), &head, description, input, input_length,
                        ret);
}

bool run_message_make_collection(const struct run_description *description, bool haste,
                                 struct run_message *ret)
{
    static char *nothing[] = {NULL};
    const struct run_description without_files = {.file_count = 0};
    const struct guest_run wanted = {.session = 1,
                                     .argv = description->argv,
                                     .environment = nothing,
                                     .paths = nothing,
                                     .outputs = description->outputs};
    CLEANUP(wipe_writer) struct wire_writer head = {.limit = GUEST_HEAD_LIMIT};
    guest_run_write(&head, &wanted);
    return make_message(haste ? GUEST_ORDER_COLLECT_HASTE : GUEST_ORDER_COLLECT, &head,
                        &without_files, NULL, 0, ret);
}

void run_message_refuse(struct run_message *message, size_t gap)
{
    unsigned char *end = &message->bytes[message->length - sizeof(uint32_t)];
    struct wire_reader reader = {.bytes = end, .length = sizeof(uint32_t)};
    struct wire_writer writer = {
        .bytes = end, .capacity = sizeof(uint32_t), .limit = sizeof(uint32_t)};
    if (wire_get_u32(&reader) == GUEST_MESSAGE_END)
        wire_put_u32(&writer, message->gaps[gap].number);
}

void run_message_clear(struct run_message *message)
{
    if (message->bytes)
        explicit_bzero(message->bytes, message->length);
    free(message->bytes);
    free(message->gaps);
    *message = (struct run_message){.bytes = NULL};
}
