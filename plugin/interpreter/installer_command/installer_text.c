/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what the commands say: see installer_command.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "environments/system_packages.h"
#include "interpreter/installer_command/installer_command.h"

#define NAMES_SIZE        1200 /* bytes of the list of what is there */
#define ENVIRONMENTS_SIZE 4000 /* and of that of environments */
#define WANTED_SHOWN      8

static const struct {
    enum package_language packages;
    const char *language;
    const char *also; /* whose programs have the same packages; NULL: none */
    const char *title;
    const char *variable;
    const char *list_all;
} kinds[] = {
    [INSTALLS_PYTHON] = {PACKAGES_PYTHON, "python", NULL, "Python", "PYTHONPATH",
                         "importlib.metadata.distributions() has them all"},
    [INSTALLS_JAVASCRIPT] = {PACKAGES_JAVASCRIPT, "javascript", "typescript", "JavaScript",
                             "NODE_PATH", "look into NODE_PATH and /usr/share/nodejs for them all"},
};

static bool read_packages(enum installer_kind kind, struct system_packages *ret)
{
    const char *path = getenv("PATH");
    CLEANUP(cleanup_string_list) char **commands = string_list_new(0);
    CLEANUP_FREE char *copy = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
    char *rest = copy;
    for (char *directory; commands && copy && (directory = strsep(&rest, ":"));)
        if (directory[0] == '/' && !string_list_append(&commands, directory))
            return false;
    const struct system_view view = {.commands = commands, .further = getenv(kinds[kind].variable)};
    return commands && copy && system_packages_read(kinds[kind].packages, &view, ret);
}

/* The length of its name, in front of a version and other conditions. */
static size_t name_length(const char *wanted)
{
    return strcspn(wanted, "=<>!~[;@ ");
}

/* The package of that name, as it is there. */
static const struct package_facts *find_wanted(const struct system_packages *packages,
                                               const char *wanted)
{
    char name[PACKAGE_NAME_LIMIT + 1];
    if (name_length(wanted) > PACKAGE_NAME_LIMIT)
        return NULL;
    (void)snprintf(name, sizeof(name), "%.*s", (int)name_length(wanted), wanted);
    return system_packages_find(packages, PACKAGES_PYTHON, name);
}

static enum installer_verdict judge(const struct package_facts *facts, const char *wanted)
{
    const char *condition = wanted + name_length(wanted);
    if (!facts)
        return INSTALLER_REFUSES;
    if (*condition == '\0')
        return INSTALLER_SATISFIED;
    if (strncmp(condition, "==", 2) != 0)
        return *condition == '@' ? INSTALLER_REFUSES : INSTALLER_CANNOT_TELL;
    return strcmp(condition + 2, facts->version) == 0 ? INSTALLER_SATISFIED : INSTALLER_CANNOT_TELL;
}

static bool changes_nothing(const char *option)
{
    static const char *const options[] = {"-q", "--quiet", "--user", "--break-system-packages"};
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (strcmp(option, options[i]) == 0)
            return true;
    return false;
}

void installer_tell_satisfied(const struct installer_request *request)
{
    CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
    if (!read_packages(INSTALLS_PYTHON, &packages))
        return;
    for (char *const *word = request->wanted; *word; word++) {
        const struct package_facts *facts =
            changes_nothing(*word) ? NULL : find_wanted(&packages, *word);
        if (facts)
            (void)printf("Requirement already satisfied: %s (%s)\n", facts->name, facts->version);
    }
}

enum installer_verdict installer_judge(const struct installer_request *request)
{
    CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
    enum installer_verdict verdict = INSTALLER_REFUSES;
    size_t count = 0;
    if (request->installer->kind != INSTALLS_PYTHON || !request->installs ||
        !read_packages(INSTALLS_PYTHON, &packages))
        return INSTALLER_REFUSES;
    for (char *const *word = request->wanted; *word; word++) {
        if (changes_nothing(*word))
            continue;
        enum installer_verdict of_word = judge(find_wanted(&packages, *word), *word);
        if (of_word == INSTALLER_REFUSES)
            return INSTALLER_REFUSES;
        verdict = count++ == 0 || of_word == INSTALLER_CANNOT_TELL ? of_word : verdict;
    }
    return verdict;
}

/* Names that were asked for, without what a terminal or a reader would take for something else. */
static void print_wanted(char *const *wanted)
{
    int shown = 0;
    for (; *wanted && shown < WANTED_SHOWN; wanted++) {
        size_t length = (*wanted)[0] == '@' ? strlen(*wanted) : name_length(*wanted);
        char name[PACKAGE_NAME_LIMIT + 1];
        (void)snprintf(name, sizeof(name), "%.*s", (int)(length < 200 ? length : 200), *wanted);
        if (package_name_is_valid(name[0] == '@' ? name + 1 : name))
            (void)fprintf(stderr, "%s%s", shown++ == 0 ? " " : ", ", name);
    }
    if (shown == 0)
        (void)fputs(" anything", stderr);
}

static void print_packages(enum installer_kind kind)
{
    CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
    char names[NAMES_SIZE] = "";
    size_t count = 0;
    if (!read_packages(kind, &packages) || packages.count == 0) {
        (void)fprintf(stderr, "There are no %s packages beyond the interpreter's own.\n",
                      kinds[kind].title);
        return;
    }
    for (; count < packages.count; count++) {
        if (strlen(names) + strlen(packages.list[count].name) + sizeof(", ") > sizeof(names))
            break;
        text_add_name(names, sizeof(names), packages.list[count].name);
    }
    (void)fprintf(stderr, "%s packages that are there: %s", kinds[kind].title, names);
    if (count < packages.count)
        (void)fprintf(stderr, " and %zu more (%s)", packages.count - count, kinds[kind].list_all);
    (void)fputs(".\n", stderr);
}

/* Of one line "NAME (language): description". */
static bool is_of(const char *line, size_t length, const char *language)
{
    char word[32];
    if (!language)
        return false;
    int size = snprintf(word, sizeof(word), " (%s): ", language);
    const char *colon = memmem(line, length, "): ", strlen("): "));
    const char *found = memmem(line, length, word, (size_t)size);
    return found && colon == found + size - strlen("): ");
}

/* false: there is none. */
static bool print_environments(enum installer_kind kind)
{
    const char *line = getenv(PACKAGES_VARIABLE);
    size_t printed = 0;
    while (line && *line) {
        size_t length = strcspn(line, "\n");
        if ((is_of(line, length, kinds[kind].language) || is_of(line, length, kinds[kind].also)) &&
            printed + length < ENVIRONMENTS_SIZE) {
            (void)fprintf(stderr, "%s  %.*s\n",
                          printed == 0
                              ? "A request can name one of these environments in \"packages\":\n"
                              : "",
                          (int)length, line);
            printed += length;
        }
        line += length + (line[length] == '\n');
    }
    return printed > 0;
}

void installer_explain(const struct installer_request *request)
{
    static char buffer[8192];
    const struct installer *installer = request->installer;
    (void)setvbuf(stderr, buffer, _IOFBF, sizeof(buffer)); /* one write: others may write there */
    if (request->installs) {
        (void)fprintf(stderr, "%s: cannot install", installer->name);
        print_wanted(request->wanted);
        (void)fputs(
            ": the packages of this sandbox are fixed, and it has no network. Trying again, "
            "or another installer, does not help.\n",
            stderr);
    } else {
        (void)fprintf(stderr,
                      "%s: the command itself is not installed, and this sandbox has no network.\n",
                      installer->name);
    }
    print_packages(installer->kind);
    if (print_environments(installer->kind))
        (void)fputs("Use one of them or what is there, or ask the operator for another one.\n",
                    stderr);
    else
        (void)fprintf(stderr,
                      "There is no environment with other %s packages that a request could name. "
                      "Do without, or ask the operator for one.\n",
                      kinds[installer->kind].title);
    if (request->installs && request->has_own && installer->kind == INSTALLS_PYTHON)
        (void)fprintf(stderr,
                      "Files of the program can be installed with \"%s install --no-index "
                      "FILE\".\n",
                      installer->name);
}
