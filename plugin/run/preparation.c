/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the choice: see describe.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "run/describe.h"

#include <string.h>

#include "base/ascii.h"
#include "base/string_list.h"

/* Variables that loaders, C libraries and interpreters read once, when they start. */
static const char *const read_at_start[] = {
    "PYTHON", "NODE", "LD_",  "LC_",  "LANG",      "GLIBC_", "MALLOC_", "TZ",     "UV_", "OPENSSL_",
    "SSL_",   "ICU_", "HOME", "OMP_", "OPENBLAS_", "MKL_",   "NPY_",    "NUMPY_", "MPL",
};

static bool has_variable(char *const *environment, const char *variable)
{
    size_t length = strcspn(variable, "=");
    for (; environment && *environment; environment++)
        if (strncmp(*environment, variable, length) == 0 && (*environment)[length] == '=')
            return true;
    return false;
}

/* variable: "NAME" or "NAME=value" */
static bool comes_too_late(char *const *environment, const char *variable)
{
    for (size_t i = 0; i < sizeof(read_at_start) / sizeof(read_at_start[0]); i++)
        if (strncmp(variable, read_at_start[i], strlen(read_at_start[i])) == 0)
            return true;
    return has_variable(environment, variable);
}

static bool has_late_variable(const struct request *request, char *const *environment)
{
    for (size_t i = 0; request->environment && request->environment[i]; i++)
        if (comes_too_late(environment, request->environment[i]))
            return true;
    for (size_t i = 0; i < request->secret_count; i++)
        if (comes_too_late(environment, request->secrets[i].variable))
            return true;
    return false;
}

/* The policy's parser guarantees that it is there. */
static uint32_t find_argument(char *const *argv, const char *program)
{
    uint32_t last = (uint32_t)string_list_count(argv) - 1;
    while (last > 0 && strcmp(argv[last], program) != 0)
        last--;
    return last;
}

static bool is_of_word(char c)
{
    return ascii_is_alphanumeric(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Finds the word wherever it is a word of its own: a needless import costs only a little memory. */
static bool has_word(const struct request *request, const char *word)
{
    const char *code = request->code;
    if (!code) /* a content check reads the program, and has none */
        return false;
    const char *end = code + request->code_length;
    size_t length = strlen(word);
    for (const char *at = code; at < end; at++) {
        at = memmem(at, (size_t)(end - at), word, length);
        if (!at)
            return false;
        if ((at == code || !is_of_word(at[-1])) && (at + length == end || !is_of_word(at[length])))
            return true;
    }
    return false;
}

/* Each once, in the policy's order. */
static bool add_named_modules(const struct policy_preparation *preparation,
                              const struct request *request, char ***list)
{
    for (size_t i = 0; i < preparation->named_count; i++) {
        const struct policy_named_modules *named = &preparation->named[i];
        if (!has_word(request, named->word))
            continue;
        for (char *const *module = named->modules; *module; module++)
            if ((!*list || !string_list_contains(*list, *module)) &&
                !string_list_append(list, *module))
                return false;
    }
    return true;
}

bool preparation_fill(const struct policy_preparation *preparation, const struct request *request,
                      const char *program, struct run_description *description)
{
    uint32_t program_argument = find_argument(description->argv, program);
    /* With some options Python does not load the script that makes it wait (-I, -S). */
    bool has_options = program_argument != 1;
    if (preparation->interpreter == RUN_INTERPRETER_NODE || !has_options)
        description->preparation.runner = preparation->interpreter;
    description->preparation.argument_count = (uint32_t)string_list_count(description->argv);
    description->preparation.program_argument = program_argument;
    description->preparation.environment_count =
        (uint32_t)string_list_count(description->environment);
    if (preparation->interpreter == RUN_INTERPRETER_NONE || description->pool_size == 0 ||
        (preparation->interpreter == RUN_INTERPRETER_PYTHON && has_options) ||
        has_late_variable(request, description->environment))
        return true;
    if (!string_list_append_all(&description->preparation.modules,
                                (const char *const *)preparation->modules) ||
        !add_named_modules(preparation, request, &description->preparation.named_modules))
        return false;
    description->preparation.interpreter = preparation->interpreter;
    description->preparation.fork = preparation->fork;
    description->preparation.renew_runs = preparation->renew_runs;
    description->preparation.renew_ms = preparation->renew_ms;
    return true;
}
