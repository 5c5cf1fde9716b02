/* SPDX-License-Identifier: Apache-2.0 */
/* An editor for the person who approves. On the thread inside tool_invoke(). */
#include "approval/approval_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/bounded_program.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/write_fully.h"

#define CODE          "edit_failed"
#define LIMIT         (8u << 20)
#define EDITOR_WORDS  16u
#define ARGUMENTS     "arguments.json"
#define CODE_FILE     "code"
#define TEMPLATE_NAME "toolhost-edit-XXXXXX"

/* A directory of this user alone, with the two files. */
struct draft {
    char directory[512]; /* "": none */
    char arguments[600], code[600];
    bool has_code;
};

static void draft_remove(struct draft *draft)
{
    if (!draft->directory[0])
        return;
    (void)unlink(draft->arguments);
    (void)unlink(draft->code);
    (void)rmdir(draft->directory);
}

static bool write_file(const char *path, const char *text, size_t length, struct failure *failure)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return (fd >= 0 && write_fully(fd, text, length)) ||
           failure_set_errno(failure, CODE, errno, "%s", path);
}

static bool draft_write(const json_t *arguments, struct draft *draft, struct failure *failure)
{
    const char *place = getenv("TMPDIR");
    char directory[sizeof(draft->directory)];
    (void)snprintf(directory, sizeof(directory), "%s/" TEMPLATE_NAME,
                   place && place[0] == '/' ? place : "/tmp");
    if (!mkdtemp(directory))
        return failure_set_errno(failure, CODE, errno, "cannot create a file to edit: %s",
                                 directory);
    memcpy(draft->directory, directory, sizeof(directory));
    (void)snprintf(draft->arguments, sizeof(draft->arguments), "%s/" ARGUMENTS, directory);
    (void)snprintf(draft->code, sizeof(draft->code), "%s/" CODE_FILE, directory);
    json_auto_t *rest = json_copy((json_t *)(uintptr_t)arguments);
    const json_t *code = json_object_get(arguments, "code");
    draft->has_code = json_is_string(code);
    if (draft->has_code)
        (void)json_object_del(rest, "code");
    CLEANUP_FREE char *text = rest ? json_text(rest, JSON_INDENT(2)) : NULL;
    if (!text)
        return failure_out_of_memory(failure);
    return write_file(draft->arguments, text, strlen(text), failure) &&
           (!draft->has_code ||
            write_file(draft->code, json_string_value(code), json_string_length(code), failure));
}

/* The editor's words, split at blanks and never seen by a shell; then the files. */
static bool editor_arguments(char *words, const struct draft *draft, char **ret)
{
    size_t count = 0;
    char *rest = words;
    for (char *word = strsep(&rest, " \t"); word; word = strsep(&rest, " \t")) {
        if (word[0] && count < EDITOR_WORDS)
            ret[count++] = word;
    }
    bool named = count > 0;
    if (draft->has_code)
        ret[count++] = (char *)(uintptr_t)draft->code;
    ret[count++] = (char *)(uintptr_t)draft->arguments;
    ret[count] = NULL;
    return named;
}

static bool run_editor(const struct draft *draft, int terminal, int cancelled_fd, uint64_t deadline,
                       struct failure *failure)
{
    const char *editor = getenv("VISUAL");
    if (!editor || !editor[0])
        editor = getenv("EDITOR");
    CLEANUP_FREE char *words = strdup(editor && editor[0] ? editor : "vi");
    char *arguments[EDITOR_WORDS + 3];
    if (!words)
        return failure_out_of_memory(failure);
    if (!editor_arguments(words, draft, arguments))
        return failure_set(failure, CODE, "EDITOR names no editor");
    const struct bounded_program program = {.path = arguments[0],
                                            .arguments = arguments,
                                            .input = terminal,
                                            .error = terminal,
                                            .at_terminal = true,
                                            .wait_ms = deadline_poll_timeout(deadline),
                                            .cancelled_fd = cancelled_fd};
    CLEANUP(program_result_clear) struct program_result result;
    bounded_program_run(&program, &result);
    if (result.end == PROGRAM_NOT_STARTED)
        return failure_set_errno(failure, CODE, result.number, "the editor %s", arguments[0]);
    if (result.end != PROGRAM_EXITED && result.end != PROGRAM_SIGNALLED)
        return failure_set(failure, CODE, "the editor did not finish in time");
    return (result.end == PROGRAM_EXITED && result.number == 0) ||
           failure_set(failure, CODE, "the editor ended with an error");
}

/* Editors put a line break behind the last line, whether there was one or not. */
static void drop_added_break(const json_t *before, const char *text, size_t *length)
{
    const char *old = json_string_value(before);
    size_t old_length = json_string_length(before);
    bool had = old_length > 0 && old[old_length - 1] == '\n';
    if (!had && *length > 0 && text[*length - 1] == '\n')
        (*length)--;
}

static bool draft_read(const json_t *arguments, const struct draft *draft, json_t **ret,
                       struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    json_error_t where;
    if (!read_bounded_file(draft->arguments, LIMIT, &text, &length, failure))
        return false;
    json_auto_t *edited = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (!edited) {
        char why[JSON_PROBLEM_LIMIT];
        json_problem(&where, why);
        return failure_set(failure, CODE, "%s cannot be read: %s", ARGUMENTS, why);
    }
    if (!json_is_object(edited))
        return failure_set(failure, CODE, "%s is not a JSON object", ARGUMENTS);
    CLEANUP_FREE char *code = NULL;
    if (draft->has_code) {
        if (!read_bounded_file(draft->code, LIMIT, &code, &length, failure))
            return false;
        drop_added_break(json_object_get(arguments, "code"), code, &length);
        if (json_object_set_new(edited, "code", json_stringn(code, length)) != 0)
            return failure_set(failure, CODE, "the code is not UTF-8");
    }
    *ret = TAKE_POINTER(edited);
    return true;
}

bool approval_edit(const json_t *arguments, int terminal, int cancelled_fd, uint64_t deadline,
                   json_t **ret, struct failure *failure)
{
    CLEANUP(draft_remove) struct draft draft = {0};
    return draft_write(arguments, &draft, failure) &&
           run_editor(&draft, terminal, cancelled_fd, deadline, failure) &&
           draft_read(arguments, &draft, ret, failure);
}

json_t *approval_edited_request(const json_t *request, const json_t *arguments)
{
    static const char *const replaced[] = {"language", "code",          "args",    "stdin",
                                           "files",    "environment",   "secrets", "network",
                                           "reason",   "request_sha256"};
    json_auto_t *edited = json_copy((json_t *)(uintptr_t)request);
    if (!edited)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(replaced); i++)
        (void)json_object_del(edited, replaced[i]);
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        const char *shown = strcmp(name, "env") == 0 ? "environment" : name;
        if (json_object_set(edited, shown, value) != 0)
            return NULL;
    }
    if (json_object_set(edited, "arguments", (json_t *)(uintptr_t)arguments) != 0)
        return NULL;
    return TAKE_POINTER(edited);
}
