/* SPDX-License-Identifier: Apache-2.0 */
/* Owns where interpreters look for packages: see system_packages.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "environments/system_packages.h"

struct search {
    enum package_language language;
    const struct system_view *view;
    unsigned long long deadline_ms;
    struct system_packages packages;
};

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Only what the sandbox shows. A link that leads out of that is another place. */
static bool is_shown(const struct system_view *view, const char *path)
{
    if (!view->shown)
        return true;
    for (char *const *const *list = view->shown; *list; list++)
        for (char *const *shown = *list; *shown; shown++)
            if (is_below(path, *shown))
                return true;
    return false;
}

static bool look_into(struct search *search, const char *directory)
{
    char real[PATH_MAX];
    if (directory[0] != '/' || !realpath(directory, real) || !is_shown(search->view, directory) ||
        !is_shown(search->view, real))
        return true;
    return system_packages_add(search->language, real, search->deadline_ms, &search->packages);
}

/* Directories with ':' between them. */
static bool look_into_all(struct search *search, const char *list)
{
    char directory[PATH_MAX];
    while (list && *list) {
        size_t length = strcspn(list, ":");
        if ((size_t)snprintf(directory, sizeof(directory), "%.*s", (int)length, list) <
                sizeof(directory) &&
            !look_into(search, directory))
            return false;
        list += length + (list[length] == ':');
    }
    return true;
}

/* The file behind the command's links; false: there is no such command. */
static bool find_command(const struct system_view *view, const char *name, char ret[PATH_MAX])
{
    char path[PATH_MAX];
    for (char *const *directory = view->commands; directory && *directory; directory++)
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", *directory, name) < sizeof(path) &&
            access(path, X_OK) == 0)
            return realpath(path, ret) != NULL;
    return false;
}

/* "…/PREFIX/bin/python3.11" is the interpreter of that prefix; one of Debian has what is installed
 * by hand in /usr/local, and the distribution's own packages below a name without its minor
 * version.
 */
static bool look_around_python(struct search *search, char *command)
{
    char *name = strrchr(command, '/') + 1;
    char directory[PATH_MAX + 64];
    if (strncmp(name, "python3.", strlen("python3.")) != 0)
        return true;
    if (is_below(command, "/usr/bin")) {
        (void)snprintf(directory, sizeof(directory),
                       "/usr/local/lib/%s/dist-packages:/usr/lib/python3/dist-packages:"
                       "/usr/lib/%s/dist-packages",
                       name, name);
        if (!look_into_all(search, directory))
            return false;
    }
    name[-1] = '\0'; /* …/PREFIX/bin */
    char *slash = strrchr(command, '/');
    if (!slash)
        return true;
    *slash = '\0';
    (void)snprintf(directory, sizeof(directory), "%s/lib/%s/site-packages", command, name);
    return look_into(search, directory);
}

/* Debian's Node looks there. What npm installs for the machine (/usr/lib/node_modules) no program
 * finds, but where NODE_PATH names it. */
static bool look_around_node(struct search *search)
{
    return look_into_all(search, "/usr/share/nodejs:/usr/lib/nodejs:/usr/lib/node");
}

static int by_name(const void *one, const void *other)
{
    const struct package_facts *left = one;
    const struct package_facts *right = other;
    int order = strcasecmp(left->name, right->name);
    return order != 0 ? order : strcmp(left->name, right->name);
}

static void cleanup_packages(struct search *search)
{
    system_packages_clear(&search->packages);
}

bool system_packages_read(enum package_language language, const struct system_view *view,
                          struct system_packages *ret)
{
    char command[PATH_MAX];
    CLEANUP(cleanup_packages)
    struct search search = {
        .language = language, .view = view, .deadline_ms = monotonic_ms() + SYSTEM_READ_LIMIT_MS};
    bool is_python = language == PACKAGES_PYTHON;
    bool found = find_command(view, is_python ? "python3" : "node", command);
    if (found && (!look_into_all(&search, view->further) ||
                  !(is_python ? look_around_python(&search, command) : look_around_node(&search))))
        return false;
    if (search.packages.count > 0)
        qsort(search.packages.list, search.packages.count, sizeof(*search.packages.list), by_name);
    *ret = search.packages;
    search.packages = (struct system_packages){.count = 0};
    return true;
}
