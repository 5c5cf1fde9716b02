/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of commands, and which of their words install: see installer_command.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "interpreter/installer_command/installer_command.h"

#define PIP_VERBS " install download wheel index search "
#define NPM_VERBS                                                                             \
    " install i in ins inst insta instal isnt isnta isntal isntall add ci clean-install "     \
    "install-test it install-ci-test cit update up upgrade udpate exec x create view v info " \
    "show search s find audit outdated "

static const struct installer installers[] = {
    {.name = "pip", .kind = INSTALLS_PYTHON, .verbs = PIP_VERBS, .is_pip = true},
    {.name = "pip3", .kind = INSTALLS_PYTHON, .verbs = PIP_VERBS, .is_pip = true},
    {.name = "uv",
     .kind = INSTALLS_PYTHON,
     .verbs = " add sync lock pip:install pip:sync pip:compile tool:install tool:run tool:upgrade "
              "python:install "},
    {.name = "conda",
     .kind = INSTALLS_PYTHON,
     .verbs = " install create update upgrade search env:create env:update "},
    {.name = "npm", .kind = INSTALLS_JAVASCRIPT, .verbs = NPM_VERBS},
    {.name = "npx", .kind = INSTALLS_JAVASCRIPT, .verbs = "", .always = true},
    {.name = "yarn",
     .kind = INSTALLS_JAVASCRIPT,
     .verbs = " install add up upgrade dlx create global info ",
     .without_word = true},
    {.name = "pnpm",
     .kind = INSTALLS_JAVASCRIPT,
     .verbs = " install i add update up upgrade dlx create fetch import install-test it "},
};

const struct installer *installer_find(const char *name)
{
    const char *slash = strrchr(name, '/');
    for (size_t i = 0; i < COUNT_OF(installers); i++)
        if (strcmp(slash ? slash + 1 : name, installers[i].name) == 0)
            return &installers[i];
    return NULL;
}

bool installer_command_is(const char *name)
{
    return installer_find(name) != NULL;
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* Words with which nothing is fetched, or the user knows that there is no network. */
static bool is_without_network(const struct installer *installer, int count, char *const *words)
{
    static const char *const options[] = {"--no-index", "--offline", "--version",    "--help",
                                          "-h",         "-V",        "--no-install", NULL};
    const char *no_index = getenv("PIP_NO_INDEX");
    for (int i = 1; i < count; i++)
        if (is_one_of(words[i], options))
            return true;
    return installer->kind == INSTALLS_PYTHON && no_index && no_index[0] &&
           strcmp(no_index, "0") != 0;
}

/* The next that is no option, from that one on; count: there is none. */
static int next_word(int count, char *const *words, int at)
{
    while (at < count && words[at][0] == '-')
        at++;
    return at;
}

static bool has_verb(const char *verbs, const char *first, const char *second)
{
    char verb[64];
    int length = second ? snprintf(verb, sizeof(verb), " %s:%s ", first, second)
                        : snprintf(verb, sizeof(verb), " %s ", first);
    return length > 0 && (size_t)length < sizeof(verb) && strstr(verbs, verb);
}

/* npx starts what an earlier installation has put beside the program. */
static bool is_there_already(const char *command)
{
    char path[256];
    return !strchr(command, '/') &&
           (size_t)snprintf(path, sizeof(path), "node_modules/.bin/%s", command) < sizeof(path) &&
           access(path, X_OK) == 0;
}

bool installer_installs(const struct installer *installer, int count, char *const *words,
                        char *const **ret_wanted)
{
    int first = next_word(count, words, 1);
    int second = next_word(count, words, first + 1);
    int behind = 0;
    if (is_without_network(installer, count, words))
        return false;
    if (installer->always)
        behind = first < count && !is_there_already(words[first]) ? first : 0;
    else if (first >= count)
        behind = installer->without_word ? count : 0;
    else if (has_verb(installer->verbs, words[first], NULL))
        behind = first + 1;
    else if (second < count && has_verb(installer->verbs, words[first], words[second]))
        behind = second + 1;
    *ret_wanted = &words[behind];
    return behind > 0;
}
