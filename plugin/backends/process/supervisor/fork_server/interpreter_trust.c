/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of files and variables of an interpreter that have to be trusted: see
 * trusted_path.h. How Python finds its files: "Initialization Configuration" of its C API
 * (getpath), and its module site. */
#include "backends/process/supervisor/fork_server/trusted_path.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/process/program/program.h"
#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"

/* No slash, no colon: a name that leads to no other place than its kind's. */
#define PLAIN ASCII_ALPHANUMERIC "_-.@,+"

/* Variables that cannot lead an interpreter, its libraries or the modules that people import
 * beforehand to other code. The list leaves out variables that name a file, a directory or a
 * module, as PYTHONHOME or PYTHONWARNINGS do, and unknown ones. PATH and PYTHONPATH are checked on
 * their own. */
static const struct {
    const char *name;
    const char *characters; /* of the value; NULL: any, as it does not come to the interpreter */
} harmless[] = {
    {"HOME", NULL},
    {"LANG", PLAIN},
    {"LANGUAGE", PLAIN ":"},
    {"LC_ALL", PLAIN},
    {"LC_COLLATE", PLAIN},
    {"LC_CTYPE", PLAIN},
    {"LC_MESSAGES", PLAIN},
    {"LC_MONETARY", PLAIN},
    {"LC_NUMERIC", PLAIN},
    {"LC_TIME", PLAIN},
    {"TZ", ASCII_ALPHANUMERIC "_-+/,<>"},
    {"TERM", ASCII_ALPHANUMERIC "-"},
    {"COLUMNS", ASCII_DIGITS},
    {"LINES", ASCII_DIGITS},
    {"NO_COLOR", PLAIN},
    {"SOURCE_DATE_EPOCH", ASCII_DIGITS},
    {"MPLBACKEND", ASCII_ALPHANUMERIC},
    {"OMP_NUM_THREADS", ASCII_DIGITS},
    {"OPENBLAS_NUM_THREADS", ASCII_DIGITS},
    {"MKL_NUM_THREADS", ASCII_DIGITS},
    {"NUMEXPR_NUM_THREADS", ASCII_DIGITS},
    {"NUMEXPR_MAX_THREADS", ASCII_DIGITS},
    {"GIT_CONFIG_NOSYSTEM", ASCII_DIGITS},
    {"PIP_RETRIES", ASCII_DIGITS},
    {"npm_config_fetch_retries", ASCII_DIGITS},
    {"PYTHONUNBUFFERED", PLAIN},
    {"PYTHONDONTWRITEBYTECODE", PLAIN},
    {"PYTHONHASHSEED", PLAIN},
    {"PYTHONUTF8", ASCII_DIGITS},
    {"PYTHONIOENCODING", PLAIN ":"},
    {"PYTHONINTMAXSTRDIGITS", ASCII_DIGITS},
    {"PYTHONNOUSERSITE", PLAIN},
    {"PYTHONSAFEPATH", PLAIN},
    {"PYTHONOPTIMIZE", ASCII_DIGITS},
    {"PYTHONFAULTHANDLER", PLAIN},
    {"PYTHONDEVMODE", PLAIN},
    {"PYTHONVERBOSE", PLAIN},
    {"PYTHONMALLOCSTATS", PLAIN},
};

static bool is_harmless(const char *variable)
{
    const char *value = strchr(variable, '=');
    if (!value || program_variable_value(variable, "PATH") ||
        program_variable_value(variable, "PYTHONPATH"))
        return value != NULL;
    value++;
    for (size_t i = 0; i < COUNT_OF(harmless); i++)
        if (program_variable_value(variable, harmless[i].name))
            return !harmless[i].characters ||
                   (value[strspn(value, harmless[i].characters)] == '\0' && value[0] != '/');
    return false;
}

/* "": there is none. */
/* A variable's list with colons, "" where it has none. */
static const char *path_of(const struct interpreter_template *interpreter, const char *name)
{
    const char *value = program_find_variable(interpreter->environment, name);
    return value ? value : "";
}

/* Calls back for each directory of a list with colons, "" for an empty one. */
static bool for_each_directory(const char *list, bool (*call)(void *user, const char *directory),
                               void *user)
{
    CLEANUP_FREE char *copy = strdup(list);
    char *rest = copy;
    for (char *one; rest && (one = strsep(&rest, ":"));)
        if (!call(user, one))
            return false;
    return copy != NULL;
}

static bool add_directory(void *user, const char *directory)
{
    return trusted_roots_add(user, directory);
}

/* Python looks its own program up to know where its modules are. */
struct search {
    const char *name;
    char found[PATH_MAX];      /* "": not yet */
    char distrusted[PATH_MAX]; /* "": none */
};

static bool search_directory(void *user, const char *directory)
{
    struct search *search = user;
    char path[PATH_MAX];
    char resolved[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, search->name) >= sizeof(path))
        return false;
    enum trusted_outcome outcome = trusted_path_walk(path, resolved);
    if (outcome == TRUSTED_PATH && search->found[0] == '\0' && access(path, X_OK) == 0)
        memcpy(search->found, path, sizeof(path));
    if (outcome == DISTRUSTED_PATH)
        (void)snprintf(search->distrusted, sizeof(search->distrusted), "%s",
                       resolved[0] ? resolved : path);
    return outcome != DISTRUSTED_PATH;
}

/* It must find the program that is executed. */
static bool finds_itself(const struct interpreter_template *interpreter, const char *path,
                         struct preparation_outcome *reterr)
{
    struct search search = {.name = interpreter->argv[0]};
    if (search.name[0] == '/' ||
        (for_each_directory(path_of(interpreter, "PATH"), search_directory, &search) &&
         strcmp(search.found, path) == 0))
        return true;
    if (search.distrusted[0])
        preparation_set(reterr, PREPARATION_PATH, search.distrusted);
    else
        preparation_set(reterr, PREPARATION_OTHER_PROGRAM, path);
    return false;
}

/* A script would have another program executed, by a path of its own. */
static bool is_program(const char *path)
{
    char magic[4];
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
           memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

/* python3, python3.11 and python311.zip within it; it may be absent. */
static bool add_libraries(struct trusted_roots *roots, const char *library)
{
    char resolved[PATH_MAX];
    char path[2 * PATH_MAX];
    enum trusted_outcome outcome = trusted_path_walk(library, resolved);
    if (outcome == DISTRUSTED_PATH)
        trusted_roots_distrust(roots, resolved);
    if (outcome != TRUSTED_PATH)
        return outcome == TRUSTED_ABSENCE;
    CLEANUP(close_directory) DIR *directory = opendir(resolved);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strncmp(entry->d_name, "python", 6) != 0 || !isdigit((unsigned char)entry->d_name[6]))
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", resolved, entry->d_name);
        if (!trusted_roots_add(roots, path))
            return false;
    }
    return true;
}

/* Of each directory above the program's. */
static bool add_prefixes(struct trusted_roots *roots, const char *program)
{
    static const char *const libraries[] = {"lib", "lib64", "local/lib"};
    char prefix[PATH_MAX];
    char path[2 * PATH_MAX];
    (void)snprintf(prefix, sizeof(prefix), "%s", program);
    while (prefix[0] != '\0') {
        char *slash = strrchr(prefix, '/');
        if (!slash)
            return false;
        *slash = '\0';
        for (size_t i = 0; i < COUNT_OF(libraries); i++) {
            (void)snprintf(path, sizeof(path), "%s/%s", prefix, libraries[i]);
            if (!add_libraries(roots, path))
                return false;
        }
    }
    return true;
}

/* "home = DIRECTORY" of a virtual environment's file names the directory of the program that it was
 * made with. */
static bool add_home(struct trusted_roots *roots, const char *configuration)
{
    char program[2 * PATH_MAX];
    CLEANUP_FILE FILE *file = fopen(configuration, "re");
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    while (file && getline(&line, &size, file) > 0) {
        char home[PATH_MAX];
        if (sscanf(line, " home = %4095[^\r\n]", home) == 1 &&
            ((size_t)snprintf(program, sizeof(program), "%s/python3", home) >= PATH_MAX ||
             !add_prefixes(roots, program)))
            return false;
    }
    return file && !ferror(file);
}

/* Beside its program, or in the directory above, may be the file of a virtual environment; and the
 * one of a Python that runs where it was built, which nobody need copy. */
static bool add_environment(struct trusted_roots *roots, const char *program)
{
    char directory[PATH_MAX];
    char path[2 * PATH_MAX];
    char resolved[PATH_MAX];
    (void)snprintf(directory, sizeof(directory), "%s", program);
    for (int level = 0; level < 2; level++) {
        char *slash = strrchr(directory, '/');
        if (!slash)
            return true;
        *slash = '\0';
        (void)snprintf(path, sizeof(path), "%s/pybuilddir.txt", directory);
        if (trusted_path_walk(path, resolved) != TRUSTED_ABSENCE) {
            trusted_roots_distrust(roots, path);
            return false;
        }
        (void)snprintf(path, sizeof(path), "%s/pyvenv.cfg", directory);
        if (!trusted_roots_add(roots, path))
            return false;
        if (trusted_path_walk(path, resolved) == TRUSTED_PATH && !add_home(roots, resolved))
            return false;
    }
    return true;
}

/* NULL: one has a colon itself, or there is no memory. */
static char *join_roots(const struct trusted_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++)
        if (strchr(roots->paths[i], ':'))
            return NULL;
    return string_list_join(roots->paths, ':');
}

static void free_roots(struct trusted_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++)
        free(roots->paths[i]);
}

/* Its name alone: the value is the operator's. */
static bool variables_are_harmless(const struct interpreter_template *interpreter,
                                   struct preparation_outcome *reterr)
{
    for (char *const *variable = interpreter->environment; *variable; variable++) {
        if (is_harmless(*variable))
            continue;
        preparation_set(reterr, PREPARATION_VARIABLE, *variable);
        reterr->detail[strcspn(reterr->detail, "=")] = '\0';
        return false;
    }
    return true;
}

/* path: the file that is executed; resolved: the same without symbolic links. */
static bool add_import_roots(struct trusted_roots *roots,
                             const struct interpreter_template *interpreter, const char *path,
                             const char *resolved)
{
    const char *modules = path_of(interpreter, "PYTHONPATH");
    return add_prefixes(roots, path) && add_prefixes(roots, resolved) &&
           add_environment(roots, path) && add_environment(roots, resolved) &&
           (!modules[0] || for_each_directory(modules, add_directory, roots)) &&
           trusted_roots_check(roots);
}

char *interpreter_trust(const struct interpreter_template *interpreter, const char *path,
                        struct preparation_outcome *ret)
{
    CLEANUP(free_roots) struct trusted_roots roots = {.count = 0};
    char resolved[PATH_MAX];
    if (!variables_are_harmless(interpreter, ret))
        return NULL;
    if (trusted_path_walk(path, resolved) != TRUSTED_PATH) {
        preparation_set(ret, PREPARATION_PATH, resolved);
        return NULL;
    }
    if (!is_program(resolved)) {
        preparation_set(ret, PREPARATION_NO_PROGRAM, resolved);
        return NULL;
    }
    if (!finds_itself(interpreter, path, ret))
        return NULL;
    if (add_import_roots(&roots, interpreter, path, resolved))
        return join_roots(&roots);
    preparation_set(ret, PREPARATION_PATH, roots.distrusted);
    return NULL;
}
