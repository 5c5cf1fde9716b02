/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of strings. Pure code; runs in the gateway on the calling thread, and in backends.
 */
#include "base/string_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

char **string_list_new(size_t count)
{
    return calloc(count + 1, sizeof(char *));
}

void string_list_free(char **list)
{
    if (!list)
        return;
    for (size_t i = 0; list[i]; i++)
        free(list[i]);
    free((void *)list);
}

bool string_list_contains(char *const *list, const char *string)
{
    for (; list && *list; list++) {
        if (strcmp(*list, string) == 0)
            return true;
    }
    return false;
}

char *copy_bytes(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

size_t string_list_count(char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

bool string_list_append(char ***list, const char *string)
{
    size_t count = string_list_count(*list);
    char **grown = reallocarray(*list, count + 2, sizeof(*grown));
    if (!grown)
        return false;
    *list = grown;
    grown[count] = strdup(string);
    grown[count + 1] = NULL;
    return grown[count] != NULL;
}

bool string_list_append_all(char ***list, const char *const *more)
{
    for (size_t i = 0; more && more[i]; i++)
        if (!string_list_append(list, more[i]))
            return false;
    return true;
}

char **string_list_copy(char *const *list, size_t most)
{
    size_t count = string_list_count(list);
    if (count > most)
        count = most;
    char **copy = string_list_new(count);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(list[i]);
        if (!copy[i])
            string_list_free(TAKE_POINTER(copy));
    }
    return copy;
}

char *string_list_join(char *const *list, char separator)
{
    size_t size = 1;
    for (size_t i = 0; list[i]; i++)
        size += strlen(list[i]) + 1;
    char *joined = calloc(1, size);
    char *end = joined;
    for (size_t i = 0; joined && list[i]; i++) {
        if (i > 0)
            *end++ = separator;
        end = stpcpy(end, list[i]);
    }
    return joined;
}

void text_add_name(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);
    if (used + strlen(name) + 3 < size)
        (void)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}
