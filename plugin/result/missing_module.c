/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words of interpreters about libraries: see run_notes.h. */
#include "result/run_notes.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

/* The text before and after the name. */
static const struct {
    const char *language;
    const char *before;
    const char *behind;
} complaints[] = {
    {"python", "ModuleNotFoundError: No module named '", "'"},
    {"javascript", "Cannot find module '", "'"},
    {"javascript", "Cannot find package '", "'"},
    {"typescript", "Cannot find module '", "'"},
    {"typescript", "Cannot find package '", "'"},
    {"ruby", "cannot load such file -- ", " (LoadError)"},
    {"perl", "Can't locate ", " in @INC"},
    {"lua", "module '", "' not found"},
    {"r", "there is no package called \xe2\x80\x98", "\xe2\x80\x99"},
};

static bool take_name(const char *begin, const char *behind,
                      char ret_name[MISSING_MODULE_LIMIT + 1])
{
    static const char allowed[] = ASCII_ALPHANUMERIC "._-/@:";
    size_t length = strspn(begin, allowed);
    if (length == 0 || length > MISSING_MODULE_LIMIT ||
        strncmp(begin + length, behind, strlen(behind)) != 0)
        return false;
    memcpy(ret_name, begin, length);
    ret_name[length] = '\0';
    return true;
}

bool missing_module_find(const char *language, const char *errors,
                         char ret_name[MISSING_MODULE_LIMIT + 1])
{
    for (size_t i = 0; i < COUNT_OF(complaints); i++) {
        const char *found = errors;
        if (strcmp(complaints[i].language, language) != 0)
            continue;
        while ((found = strstr(found, complaints[i].before))) {
            found += strlen(complaints[i].before);
            if (take_name(found, complaints[i].behind, ret_name))
                return true;
        }
    }
    return false;
}
