/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the search for an environment that has a library: see run_notes.h. */
#include "result/run_notes.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"

#define WORD_LIMIT 80

/* What is imported by another name than it is installed by. */
static const char *const other_names[][2] = {
    {"sklearn", "scikit-learn"},
    {"skimage", "scikit-image"},
    {"cv2", "opencv-python"},
    {"PIL", "pillow"},
    {"yaml", "pyyaml"},
    {"bs4", "beautifulsoup4"},
    {"dateutil", "python-dateutil"},
};

static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    if (c == '_')
        return '-';
    return c;
}

static bool is_part_of_word(char c)
{
    c = folded(c);
    return ascii_is_alphanumeric(c) || c == '-';
}

static bool begins_with(const char *text, const char *word)
{
    while (*word && folded(*text) == folded(*word)) {
        text++;
        word++;
    }
    return *word == '\0';
}

static bool has_word(const char *text, const char *word)
{
    for (const char *at = text; *at; at++)
        if ((at == text || !is_part_of_word(at[-1])) && begins_with(at, word) &&
            !is_part_of_word(at[strlen(word)]))
            return true;
    return false;
}

static bool has_module(const char *description, const char *module)
{
    if (has_word(description, module))
        return true;
    for (size_t i = 0; i < COUNT_OF(other_names); i++)
        if (strcmp(other_names[i][0], module) == 0 && has_word(description, other_names[i][1]))
            return true;
    return false;
}

/* Programs in TypeScript have the packages of JavaScript. */
static bool is_of(const char *own, const char *language)
{
    return strcmp(own, language) == 0 ||
           (strcmp(own, "javascript") == 0 && strcmp(language, "typescript") == 0);
}

void environments_name(char *const *environments, const char *language, const char *module,
                       char *ret, size_t size)
{
    char name[WORD_LIMIT + 1];
    char own[WORD_LIMIT + 1];
    char word[MISSING_MODULE_LIMIT + 1] = "";
    ret[0] = '\0';
    if (module) /* of a part of a package, the package */
        (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(module, "."), module);
    for (; environments && *environments; environments++) {
        int behind = 0;
        if (sscanf(*environments, "%80[^ ] (%80[^)]): %n", name, own, &behind) == 2 && behind > 0 &&
            is_of(own, language) && (!module || has_module(*environments + behind, word)))
            text_add_name(ret, size, name);
    }
}
