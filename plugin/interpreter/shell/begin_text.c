/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the text: see shell.h. */
#include "interpreter/shell/shell.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "base/string_list.h"

static void put(struct wire_writer *text, const char *words)
{
    wire_put_raw(text, words, strlen(words));
}

/* As one word, whatever is in it. */
static void put_quoted(struct wire_writer *text, const char *word)
{
    put(text, "'");
    for (; *word; word++)
        wire_put_raw(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    put(text, "'");
}

static bool is_of_name(char c, bool first)
{
    return ascii_is_letter(c) || c == '_' || (!first && ascii_is_digit(c));
}

static bool can_have(const char *variable)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < length; i++)
        if (!is_of_name(variable[i], i == 0))
            return false;
    return length > 0 && variable[length] == '=';
}

/* Each word of the form is a text, and % the variable's name. */
static void put_with_name(struct wire_writer *text, const char *form, const char *variable)
{
    for (; *form; form++)
        wire_put_raw(text, *form == '%' ? variable : form,
                     *form == '%' ? strcspn(variable, "=") : 1);
}

/* The form once for each of the variables that a shell can have. */
static void put_for_each(struct wire_writer *text, const char *form, char *const *variables,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (can_have(variables[i]))
            put_with_name(text, form, variables[i]);
}

/* What takes them back is there before the first of them is, as that may fail. */
static void put_variables(struct wire_writer *text, char *const *variables, size_t lasting)
{
    size_t all = string_list_count(variables);
    size_t count = lasting < all ? all - lasting : 0;
    put_for_each(text, "_ce_had_%=${%+x} _ce_old_%=${%-}\n", variables, count);
    put(text, "_ce_back='");
    put_for_each(text,
                 "case $_ce_had_% in x) %=$_ce_old_% ;; *) unset % ;; esac\n"
                 "unset _ce_had_% _ce_old_%\n",
                 variables, count);
    put(text, "'\n");
    for (; *variables; variables++) {
        if (!can_have(*variables))
            continue;
        put_with_name(text, "export %=", *variables);
        put_quoted(text, strchr(*variables, '=') + 1);
        put(text, "\n");
    }
}

void begin_text_write(struct wire_writer *text, char *const *arguments, char *const *variables,
                      size_t lasting)
{
    put_variables(text, variables, lasting);
    put(text, "set --");
    for (; *arguments; arguments++) {
        put(text, " ");
        put_quoted(text, *arguments);
    }
    put(text, "\n");
}
