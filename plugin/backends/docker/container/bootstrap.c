/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of a container: the constant script, the message to it and its report. See
 * bootstrap.h. */
#include "backends/docker/container/bootstrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/wire.h"

#define TEXT_LIMIT 65536 /* bytes of a file that is part of the text itself */

/* Exports the variables in front of "--" and removes them from the arguments. Only for a subshell
 * that then executes a program: a variable may change the shell itself (PATH, IFS). A shell may
 * reserve a name (RANDOM), so each value is compared. "case" is no tool that a PATH could hide, and
 * "[", "echo" and "command" are builtins wherever they matter. */
#define SET_VARIABLES                                                                    \
    "  while case $1 in --) false ;; esac; do\n"                                         \
    "    export \"$1\" && eval \"[ \\\"x\\$${1%%=*}\\\" = \\\"x\\${1#*=}\\\" ]\" || {\n" \
    "      echo \"-set the variable ${1%%=*}: the image's shell reserves it\"\n"         \
    "      exit 1\n"                                                                     \
    "    }\n"                                                                            \
    "    shift\n"                                                                        \
    "  done\n"                                                                           \
    "  shift\n"

/* Whether "exec" will find the program: it searches PATH, without builtins and functions, which
 * "command -v" names first and without a path. A busybox that prefers its own applets names all of
 * them so, and executes them; the search in PATH then says only whether the image has such a
 * program. The search is no function: a variable (FUNCNEST) may forbid a nested call. */
#define SAY_WHETHER_IT_IS_THERE                                          \
    "  case $(command -v \"$1\") in\n"                                   \
    "  /*) ;;\n"                                                         \
    "  *)\n"                                                             \
    "    (case $1 in */*) exit 1 ;; esac\n"                              \
    "    set -- \"$1\" \"$PATH:\"\n"                                     \
    "    while case $2 in /*) ;; *) exit 1 ;; esac; do\n"                \
    "      [ -f \"${2%%:*}/$1\" ] && [ -x \"${2%%:*}/$1\" ] && exit 0\n" \
    "      set -- \"$1\" \"${2#*:}\"\n"                                  \
    "    done) || { echo '?'; exit 1; }\n"                               \
    "    ;;\n"                                                           \
    "  esac\n"                                                           \
    "  echo +; echo + >&4\n"

/*
 * Every tool of the image runs before the variables are set, because they may change where tools
 * are found. "read" reads single bytes from a pipe and dd one block of the given size, so that
 * neither consumes what is meant for the next one. The text that is evaluated calls umask, ce_room,
 * ce_text, put, input and set. The shell's own standard error becomes /dev/null
 * before the program starts: its message about a signal that ended the program is not the program's
 * output.
 *
 * With arguments (the text of waiting_python.py, variables, "--", a command line) the script starts
 * that interpreter, which reads the message from descriptor 9 itself. Where the image has no such
 * interpreter, the script goes on as without arguments.
 */
const char bootstrap_script[] =
    "set -f\n"
    "umask 022\n"
    "cd " BOOTSTRAP_HOME " || exit 1\n"
    "ce_take() { dd bs=\"$1\" count=1 iflag=fullblock 2>/dev/null; }\n"
    "ce_fail() { printf -- '-%s\\n' \"$1\"; exit 1; }\n"
    "ce_room() {\n"
    "  case $1 in */*) mkdir -p \"./${1%/*}\" || ce_fail \"make the directory of $1\" ;; esac\n"
    "}\n"
    "ce_text() { ce_room \"$1\"; printf %s \"$2\" >\"./$1\" || ce_fail \"write the file $1\"; }\n"
    "put() {\n"
    "  ce_room \"$1\"\n"
    "  if [ \"$2\" = 0 ]; then true >\"./$1\"; else ce_take \"$2\" >\"./$1\"; fi ||\n"
    "    ce_fail \"write the file $1\"\n"
    "}\n"
    "input() {\n"
    "  ce_take \"$1\" >/tmp/.code-execute && exec 3</tmp/.code-execute && rm /tmp/.code-execute "
    "||\n"
    "    ce_fail 'write the standard input'\n"
    "}\n"
    "ce_look() {\n" SET_VARIABLES "  command -v \"$1\"\n"
    "}\n"
    "ce_wait() {\n" SET_VARIABLES
    "  export \"PYTHONPATH=/tmp/.code-execute${PYTHONPATH:+:$PYTHONPATH}\"\n"
    "  exec \"$@\" 2>&4 4>&-\n"
    "}\n"
    "ce_try() {\n" SET_VARIABLES SAY_WHETHER_IT_IS_THERE "}\n"
    "ce_start() {\n" SET_VARIABLES SAY_WHETHER_IT_IS_THERE "  exec \"$@\" 2>&4 4>&-\n"
    "}\n"
    "exec 3</dev/null\n"
    "while read -r ce_key ce_value; do\n"
    "  case $ce_key in\n"
    "  Uid: | Cap[A-Z]*: | NoNewPrivs: | Seccomp:) printf '=%s %s\\n' \"$ce_key\" \"$ce_value\" "
    ";;\n"
    "  esac\n"
    "done </proc/self/status\n"
    "unset HOSTNAME OLDPWD\n"
    "ce_waits= ce_trial=\n"
    "if [ $# -gt 0 ]; then\n"
    "  ce_file=$1\n"
    "  shift\n"
    "  set -- \"HOME=" BOOTSTRAP_HOME "\" \"$@\"\n"
    "  case $(ce_look \"$@\") in /*) ce_waits=1 ;; esac\n"
    "fi\n"
    "IFS= read -r ce_end || exit 1\n"
    "if [ -n \"$ce_waits\" ]; then\n"
    "  mkdir /tmp/.code-execute && printf %s \"$ce_file\" >/tmp/.code-execute/sitecustomize.py || "
    "exit 1\n"
    "  exec 4>&2 2>/dev/null\n"
    "  (exec 9<&0 0</dev/null 3<&-; ce_wait \"$@\")\n"
    "  ce_status=$?\n"
    "else\n"
    "  printf '=Waits: 1\\n'\n"
    "  IFS= read -r ce_length || exit 1\n"
    "  ce_text=$(ce_take \"$ce_length\") || exit 1\n"
    "  eval \"$ce_text\"\n"
    "  exec <&3 3<&- 4>&2 2>/dev/null\n"
    "  [ -z \"$ce_trial\" ] || { (ce_try \"$@\"); exit; }\n"
    "  unset ce_text ce_key ce_value ce_length\n"
    "  (ce_start \"$@\")\n"
    "  ce_status=$?\n"
    "fi\n"
    "[ \"$ce_status\" = 0 ] && printf %s \"$ce_end\" && printf %s \"$ce_end\" >&4\n"
    "exit \"$ce_status\"\n";

static void put_text(struct wire_writer *writer, const char *text)
{
    wire_put_raw(writer, text, strlen(text));
}

/* In single quotes, where only the quote itself has a meaning to a shell. */
static void put_quoted_bytes(struct wire_writer *writer, const char *bytes, size_t length)
{
    put_text(writer, "'");
    for (const char *quote; (quote = memchr(bytes, '\'', length));) {
        size_t before = (size_t)(quote - bytes);
        wire_put_raw(writer, bytes, before);
        put_text(writer, "'\\''");
        bytes += before + 1;
        length -= before + 1;
    }
    wire_put_raw(writer, bytes, length);
    put_text(writer, "'");
}

static void put_quoted(struct wire_writer *writer, const char *text)
{
    put_quoted_bytes(writer, text, strlen(text));
}

static void put_number(struct wire_writer *writer, size_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), " %zu\n", number);
    put_text(writer, text);
}

static bool is_name(const char *variable)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t length = strspn(variable, letters);
    return length > 0 && (variable[0] < '0' || variable[0] > '9') && variable[length] == '=';
}

static void put_variable(struct wire_writer *writer, const char *variable)
{
    put_text(writer, " ");
    put_quoted(writer, variable);
}

static bool has_variable(char *const *environment, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;
    for (; *environment; environment++)
        if (strncmp(*environment, variable, length) == 0)
            return true;
    return false;
}

static void put_environment(struct wire_writer *writer, char *const *environment)
{
    static const char *const added[] = {"HOME=" BOOTSTRAP_HOME, "TMPDIR=/tmp", "USER=sandbox",
                                        "PWD=" BOOTSTRAP_HOME};
    static char *const nothing[] = {NULL};
    if (!environment)
        environment = nothing;
    for (size_t i = 0; environment[i]; i++) {
        if (is_name(environment[i]))
            put_variable(writer, environment[i]);
        else
            writer->failed = true;
    }
    for (size_t i = 0; i < COUNT_OF(added); i++)
        if (!has_variable(environment, added[i]))
            put_variable(writer, added[i]);
}

/* true: the shell can write the file by itself, without a tool. */
static bool is_text(const struct run_file *file)
{
    return file->length > 0 && file->length <= TEXT_LIMIT &&
           !memchr(file->content, '\0', file->length);
}

static void put_file(struct wire_writer *writer, const struct run_file *file, bool private)
{
    if (file->by_reference) { /* refused before: no content of it is here */
        writer->failed = true;
        return;
    }
    if (private) { /* new directories get mode 0700, the file gets 0400 */
        put_text(writer, "umask 077\nce_room ");
        put_quoted(writer, file->path);
        put_text(writer, "\numask 0377\n");
    }
    put_text(writer, is_text(file) ? "ce_text " : "put ");
    put_quoted(writer, file->path);
    if (is_text(file)) {
        put_text(writer, " ");
        put_quoted_bytes(writer, (const char *)file->content, file->length);
        put_text(writer, "\n");
    } else {
        put_number(writer, file->length);
    }
    if (private)
        put_text(writer, "umask 022\n");
}

/* waiting_python.py reads this text too, and understands no more of the shell's language than:
 * commands on lines of their own, plain words, and words that are quoted as a whole. */
static void put_setup(struct wire_writer *writer, const struct run_description *description,
                      size_t input_length)
{
    for (size_t i = 0; i < description->file_count; i++)
        put_file(writer, &description->files[i], run_description_file_private(description, i));
    if (input_length) {
        put_text(writer, "input");
        put_number(writer, input_length);
    }
    put_text(writer, "set --");
    put_environment(writer, description->environment);
    put_text(writer, " --");
    for (size_t i = 0; description->argv[i]; i++) {
        put_text(writer, " ");
        put_quoted(writer, description->argv[i]);
    }
    put_text(writer, "\n");
    if (description->purpose == RUN_PURPOSE_TRIAL)
        put_text(writer, "ce_trial=1\n");
}

static void wipe_writer(struct wire_writer *writer)
{
    if (writer->bytes)
        explicit_bzero(writer->bytes, writer->length);
    free(writer->bytes);
}

unsigned char *bootstrap_message(const struct run_description *description,
                                 const unsigned char *input, size_t input_length,
                                 size_t *ret_length)
{
    CLEANUP(wipe_writer) struct wire_writer setup = {.limit = RUN_DESCRIPTION_LIMIT};
    size_t given = input ? input_length : 0;
    put_setup(&setup, description, given);
    if (setup.failed)
        return NULL;
    char head[32];
    int head_length = snprintf(head, sizeof(head), "%zu\n", setup.length);
    size_t total = (size_t)head_length + setup.length + given;
    for (size_t i = 0; i < description->file_count; i++)
        total += is_text(&description->files[i]) ? 0 : description->files[i].length;
    unsigned char *message = malloc(total);
    if (!message)
        return NULL;
    unsigned char *end = mempcpy(message, head, (size_t)head_length);
    end = mempcpy(end, setup.bytes, setup.length);
    for (size_t i = 0; i < description->file_count; i++)
        if (description->files[i].length && !is_text(&description->files[i]))
            end = mempcpy(end, description->files[i].content, description->files[i].length);
    if (given)
        memcpy(end, input, given);
    *ret_length = total;
    return message;
}

/* Four ids, none of them 0. */
static bool is_ordinary_user(const char *value)
{
    int count = 0;
    for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
        size_t length = strcspn(value, " \t");
        if (strspn(value, "0123456789") != length || strspn(value, "0") == length)
            return false;
        value += length;
        count++;
    }
    return count == 4;
}

/* As /proc/self/status has them, but the last. */
static const struct {
    const char *key;
    const char *value; /* "0" may have more digits, all of them 0; NULL: an ordinary user */
} facts[BOOTSTRAP_FACT_COUNT] = {
    [BOOTSTRAP_FACT_CAP_INHERITABLE] = {"CapInh:", "0"},
    [BOOTSTRAP_FACT_CAP_PERMITTED] = {"CapPrm:", "0"},
    [BOOTSTRAP_FACT_CAP_EFFECTIVE] = {"CapEff:", "0"},
    [BOOTSTRAP_FACT_CAP_BOUNDING] = {"CapBnd:", "0"},
    [BOOTSTRAP_FACT_CAP_AMBIENT] = {"CapAmb:", "0"},
    [BOOTSTRAP_FACT_NO_NEW_PRIVILEGES] = {"NoNewPrivs:", "1"},
    [BOOTSTRAP_FACT_SECCOMP] = {"Seccomp:", "2"}, /* SECCOMP_MODE_FILTER */
    [BOOTSTRAP_FACT_ORDINARY_USER] = {"Uid:", NULL},
    [BOOTSTRAP_FACT_WAITS] = {"Waits:", "1"},
};

static bool fact_holds(size_t fact, const char *value)
{
    const char *wanted = facts[fact].value;
    if (!wanted)
        return is_ordinary_user(value);
    if (strcmp(wanted, "0") == 0)
        return value[0] && value[strspn(value, "0")] == '\0';
    return strcmp(value, wanted) == 0;
}

static void take_fact(uint32_t *ret, const char *key, const char *value)
{
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (strcmp(key, facts[i].key) == 0 && fact_holds(i, value))
            *ret |= BOOTSTRAP_FACT_BIT(i);
}

static enum bootstrap_state take_line(struct bootstrap_reader *reader)
{
    char *line = reader->line;
    size_t length = reader->line_length;
    line[length] = '\0';
    reader->line_length = 0;
    bool is_text = strlen(line) == length; /* no NUL in it */
    if (is_text && strcmp(line, "+") == 0)
        return BOOTSTRAP_READY;
    if (is_text && strcmp(line, "?") == 0)
        return BOOTSTRAP_MISSING;
    char *value = strchr(line, ' ');
    if (is_text && line[0] == '=' && value) {
        *value = '\0';
        take_fact(&reader->facts, line + 1, value + 1);
        return BOOTSTRAP_MORE;
    }
    (void)snprintf(reader->detail, sizeof(reader->detail), "%.150s",
                   line[0] == '-' && line[1] != '\0'
                       ? line + 1
                       : "the container's first output is not the script's");
    return BOOTSTRAP_FAILED;
}

static void keep_detail(struct bootstrap_reader *reader, char byte)
{
    size_t length = strlen(reader->detail);
    if (byte >= ' ' && byte < 0x7f && length + 1 < sizeof(reader->detail))
        reader->detail[length] = byte;
}

enum bootstrap_state bootstrap_read_errors(struct bootstrap_reader *reader,
                                           const unsigned char *bytes, size_t length,
                                           size_t *ret_taken)
{
    size_t taken = 0;
    bool ready = false;
    while (!ready && taken < length) {
        char byte = (char)bytes[taken++];
        if (byte == '\n') {
            ready = reader->line_length == 1 && reader->line[0] == '+';
            reader->line_length = 0;
            continue;
        }
        if (reader->line_length < sizeof(reader->line) - 1)
            reader->line[reader->line_length++] = byte;
        keep_detail(reader, byte);
    }
    *ret_taken = taken;
    return ready ? BOOTSTRAP_READY : BOOTSTRAP_MORE;
}

enum bootstrap_state bootstrap_read(struct bootstrap_reader *reader, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken)
{
    enum bootstrap_state state = BOOTSTRAP_MORE;
    size_t taken = 0;
    while (state == BOOTSTRAP_MORE && taken < length) {
        char byte = (char)bytes[taken++];
        if (++reader->length > BOOTSTRAP_REPORT_LIMIT ||
            (byte != '\n' && reader->line_length >= sizeof(reader->line) - 1)) {
            (void)snprintf(reader->detail, sizeof(reader->detail),
                           "the container's first output is too long");
            state = BOOTSTRAP_FAILED;
        } else if (byte == '\n') {
            state = take_line(reader);
        } else {
            reader->line[reader->line_length++] = byte;
        }
    }
    *ret_taken = taken;
    return state;
}
