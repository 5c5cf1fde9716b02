/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file of --tools-from. Main thread; what was read, any. */
#include "mcp/client/server_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/state_file.h"

#define CODE       "invalid_tools_file"
#define FILE_LIMIT (1u << 20)

/* A member of a server: its check says what it must be. */
struct config_member {
    const char *name;
    bool (*is_right)(json_t *value);
    const char *must; /* "must be …" */
};

static bool is_text(json_t *value)
{
    const char *text = json_c_string(value);
    return text && *text;
}

static bool is_stdio(json_t *value)
{
    const char *text = json_c_string(value);
    return text && strcmp(text, "stdio") == 0;
}

static bool is_texts(json_t *value)
{
    size_t index = 0;
    const json_t *element = NULL;
    json_array_foreach(value, index, element) if (!json_c_string(element)) return false;
    return json_is_array(value);
}

static bool is_environment(json_t *value)
{
    const char *name = NULL;
    const json_t *text = NULL;
    json_object_foreach(value, name, text)
    {
        if (!*name || strchr(name, '=') || !json_c_string(text))
            return false;
    }
    return json_is_object(value);
}

/* A name, or one with "*" at its end. */
static bool is_pattern(const char *text)
{
    const char *star = strchr(text, '*');
    return *text && strlen(text) <= 128 && (!star || !star[1]);
}

static bool is_patterns(json_t *value)
{
    size_t index = 0;
    const json_t *element = NULL;
    json_array_foreach(value, index, element)
    {
        const char *text = json_c_string(element);
        if (!text || !is_pattern(text))
            return false;
    }
    return json_is_array(value);
}

static bool is_approval(json_t *value)
{
    static const char *const words[] = {"never", "ask", "always_ask"};
    const char *pattern = NULL;
    const json_t *word = NULL;
    json_object_foreach(value, pattern, word)
    {
        const char *text = json_c_string(word);
        bool known = false;
        for (size_t i = 0; text && i < COUNT_OF(words); i++)
            known = known || strcmp(words[i], text) == 0;
        if (!known || !is_pattern(pattern))
            return false;
    }
    return json_is_object(value);
}

static const struct config_member members[] = {
    {"type", is_stdio, "\"stdio\": toolhost starts servers itself"},
    {"command", is_text, "the name or path of a program"},
    {"args", is_texts, "an array of texts"},
    {"env", is_environment, "an object of texts"},
    {"cwd", is_text, "a directory"},
    {"tools", is_patterns, "an array of names, of which the last character may be *"},
    {"approval", is_approval, "an object of \"never\", \"ask\" or \"always_ask\" by tool"},
};

static const struct config_member *find_member(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

static bool check_members(const char *server, json_t *object, struct failure *failure)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(object, name, value)
    {
        const struct config_member *member = find_member(name);
        if (!member) {
            (void)failure_set(failure, CODE, "server %s: unknown member %s", server, name);
            return failure_set_hint(failure,
                                    "known are type, command, args, env, cwd, tools and approval");
        }
        if (!member->is_right(value))
            return failure_set(failure, CODE, "server %s: %s must be %s", server, name,
                               member->must);
    }
    return json_object_get(object, "command") ||
           failure_set(failure, CODE, "server %s: command is missing", server);
}

static bool check_name(const char *name, struct failure *failure)
{
    if (ascii_consists_of(name, SERVER_NAME_LENGTH, ASCII_ALPHANUMERIC "_-") &&
        ascii_is_alphanumeric(name[0]))
        return true;
    (void)failure_set(failure, CODE, "%s cannot be the name of a server", name);
    return failure_set_hint(failure,
                            "a name has 1 to %u letters, digits, _ and -, and begins with "
                            "a letter or digit",
                            SERVER_NAME_LENGTH);
}

static void free_argv(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* New; NULL when out of memory. */
static char **make_argv(const json_t *object)
{
    const json_t *arguments = json_object_get(object, "args");
    size_t count = json_array_size(arguments);
    char **argv = calloc(count + 2, sizeof(*argv));
    bool made = argv && (argv[0] = strdup(json_member_string(object, "command", ""))) != NULL;
    for (size_t i = 0; made && i < count; i++)
        made = (argv[i + 1] = strdup(json_string_value(json_array_get(arguments, i)))) != NULL;
    if (made)
        return argv;
    free_argv(argv);
    return NULL;
}

static bool add_server(struct server_configs *configs, const char *name, json_t *object,
                       struct failure *failure)
{
    if (configs->count == SERVER_CONFIGS)
        return failure_set(failure, CODE, "more than %u servers", SERVER_CONFIGS);
    if (!check_name(name, failure))
        return false;
    if (!json_is_object(object))
        return failure_set(failure, CODE, "server %s must be an object", name);
    if (!check_members(name, object, failure))
        return false;
    char **argv = make_argv(object);
    if (!argv)
        return failure_out_of_memory(failure);
    configs->list[configs->count++] =
        (struct server_config){.name = name,
                               .argv = argv,
                               .directory = json_member_string(object, "cwd", NULL),
                               .environment = json_object_get(object, "env"),
                               .tools = json_object_get(object, "tools"),
                               .approval = json_object_get(object, "approval")};
    return true;
}

static bool read_text(const char *path, char **ret_text, size_t *ret_length,
                      struct failure *failure)
{
    /* Non-blocking, so that a FIFO in the file's place cannot hang. */
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return failure_set_errno(failure, CODE, errno, "file of tools %s", path);
    if (!trusted_file_check(&status, path, CODE, failure))
        return false;
    CLEANUP_FREE char *text = malloc(FILE_LIMIT + 1);
    if (!text)
        return failure_out_of_memory(failure);
    ssize_t length = read_up_to(fd, text, FILE_LIMIT + 1);
    if (length < 0)
        return failure_set_errno(failure, CODE, errno, "file of tools %s", path);
    if (length > (ssize_t)FILE_LIMIT)
        return failure_set(failure, CODE, "%s has more than %u bytes", path, FILE_LIMIT);
    *ret_text = TAKE_POINTER(text);
    *ret_length = (size_t)length;
    return true;
}

static json_t *read_file(const char *path, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    json_error_t reason;
    if (!read_text(path, &text, &length, failure))
        return NULL;
    json_t *file = json_loadb(text, length, JSON_REJECT_DUPLICATES, &reason);
    if (!file) {
        char why[JSON_PROBLEM_LIMIT];
        json_problem(&reason, why);
        (void)failure_set(failure, CODE, "%s cannot be read: %s", path, why);
    }
    return file;
}

bool server_configs_read(const char *path, struct server_configs *ret, struct failure *failure)
{
    CLEANUP(server_configs_clear)
    struct server_configs configs = {.file = read_file(path, failure)};
    if (!configs.file)
        return false;
    json_t *servers = json_object_get(configs.file, "mcpServers");
    if (!json_is_object(servers) || json_object_size(configs.file) != 1)
        return failure_set(failure, CODE, "%s must be {\"mcpServers\": {NAME: {...}}}", path);
    const char *name = NULL;
    json_t *object = NULL;
    json_object_foreach(servers, name, object)
    {
        if (!add_server(&configs, name, object, failure))
            return false;
    }
    *ret = configs;
    configs = (struct server_configs){0};
    return true;
}

void server_configs_clear(struct server_configs *configs)
{
    for (size_t i = 0; i < configs->count; i++)
        free_argv(configs->list[i].argv);
    json_decref(configs->file);
    *configs = (struct server_configs){0};
}

static bool fits(const char *pattern, const char *tool)
{
    size_t length = strcspn(pattern, "*");
    return pattern[length] == '*' ? strncmp(pattern, tool, length) == 0
                                  : strcmp(pattern, tool) == 0;
}

bool server_config_allows(const struct server_config *config, const char *tool)
{
    size_t index = 0;
    const json_t *pattern = NULL;
    json_array_foreach(config->tools, index, pattern)
    {
        if (fits(json_string_value(pattern), tool))
            return true;
    }
    return false;
}

/* A pattern is shorter than what it stands for, so the tool's own name is the longest. */
const char *server_config_approval(const struct server_config *config, const char *tool)
{
    const char *best = "ask";
    size_t best_length = 0;
    const char *pattern = NULL;
    const json_t *word = NULL;
    json_object_foreach(config->approval, pattern, word)
    {
        size_t length = strchr(pattern, '*') ? strlen(pattern) : SIZE_MAX;
        if (!fits(pattern, tool) || length <= best_length)
            continue;
        best = json_string_value(word);
        best_length = length;
    }
    return best;
}
