/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables. Pure code; runs in the gateway on the calling thread.
 */
#include "vocabulary/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"

static bool is_letter(char c)
{
    return ascii_is_letter(c) || c == '_';
}

bool environment_name_valid(const char *name, size_t length)
{
    if (length == 0 || length > ENVIRONMENT_NAME_LIMIT || !is_letter(name[0]))
        return false;
    for (size_t i = 1; i < length; i++) {
        if (!is_letter(name[i]) && !ascii_is_digit(name[i]))
            return false;
    }
    return true;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

/* By name alone: '=' sorts behind the digits, so "A1=" would come before "A=". */
static int compare_names(const void *left_entry, const void *right_entry)
{
    const char *left = *(char *const *)left_entry;
    const char *right = *(char *const *)right_entry;
    size_t left_length = name_length(left);
    size_t right_length = name_length(right);
    int order = memcmp(left, right, left_length < right_length ? left_length : right_length);
    return order != 0 ? order : (left_length > right_length) - (left_length < right_length);
}

static char *join(const char *name, size_t name_size, const void *value, size_t value_size)
{
    char *variable = malloc(name_size + value_size + 2);
    if (!variable)
        return NULL;
    memcpy(variable, name, name_size);
    variable[name_size] = '=';
    if (value_size > 0)
        memcpy(variable + name_size + 1, value, value_size);
    variable[name_size + 1 + value_size] = '\0';
    return variable;
}

static bool read_variable(const struct json_place *place, const char *name, size_t length,
                          const json_t *value, size_t value_limit, char **ret)
{
    const char *text;
    if (!environment_name_valid(name, length))
        return json_place_refuse(
            place,
            "a variable's name must be letters, digits and _, not begin with a digit, "
            "and be at most %d bytes long",
            ENVIRONMENT_NAME_LIMIT);
    if (!json_read_string(place, value, 0, value_limit, &text))
        return false;
    *ret = join(name, length, text, strlen(text));
    return *ret || json_place_out_of_memory(place);
}

bool environment_read(const struct json_place *place, json_t *object, size_t count,
                      size_t value_limit, char ***ret)
{
    const char *name;
    size_t length;
    json_t *value;

    if (!json_read_object(place, object))
        return false;
    if (json_object_size(object) > count)
        return json_place_refuse(place, "must have at most %zu members", count);
    CLEANUP(cleanup_string_list) char **list = string_list_new(json_object_size(object));
    if (!list)
        return json_place_out_of_memory(place);
    size_t used = 0;
    json_object_keylen_foreach(object, name, length, value)
    {
        struct json_place member = json_place_member(place, name, length);
        if (!read_variable(&member, name, length, value, value_limit, &list[used]))
            return false;
        used++;
    }
    qsort((void *)list, used, sizeof(*list), compare_names);
    *ret = TAKE_POINTER(list);
    return true;
}

const char *environment_value(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment && *environment; environment++) {
        if (name_length(*environment) == length && memcmp(*environment, name, length) == 0)
            return *environment + length + ((*environment)[length] == '=');
    }
    return NULL;
}

bool environment_has(char *const *environment, const char *name)
{
    return environment_value(environment, name);
}

static void wipe_free(char *variable)
{
    explicit_bzero(variable, strlen(variable));
    free(variable);
}

static bool append(char ***list, char *variable)
{
    size_t count = string_list_count(*list);
    char **grown = reallocarray(*list, count + 2, sizeof(*grown));
    if (!grown)
        return false;
    grown[count] = variable;
    grown[count + 1] = NULL;
    *list = grown;
    return true;
}

static bool append_or_wipe(char ***list, char *variable)
{
    if (append(list, variable))
        return true;
    wipe_free(variable);
    return false;
}

bool environment_add(char ***list, const char *name, const void *value, size_t length)
{
    char *variable = join(name, strlen(name), value, length);
    return variable && append_or_wipe(list, variable);
}

bool environment_set(char ***list, const char *name, const void *value, size_t length)
{
    size_t name_size = strlen(name);
    char *variable = join(name, name_size, value, length);
    if (!variable)
        return false;
    for (size_t i = 0; *list && (*list)[i]; i++) {
        if (strncmp((*list)[i], variable, name_size + 1) != 0)
            continue;
        wipe_free((*list)[i]);
        (*list)[i] = variable;
        return true;
    }
    return append_or_wipe(list, variable);
}

bool environment_set_all(char ***list, char *const *more)
{
    for (size_t i = 0; more && more[i]; i++) {
        CLEANUP_FREE char *name = strndup(more[i], name_length(more[i]));
        const char *value = more[i] + name_length(more[i]) + 1;
        if (!name || !environment_set(list, name, value, strlen(value)))
            return false;
    }
    return true;
}

json_t *environment_json(char *const *environment)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; environment[i]; i++) {
        const char *equals = strchr(environment[i], '=');
        if (json_object_setn_new(object, environment[i], (size_t)(equals - environment[i]),
                                 json_string(equals + 1)) != 0)
            return NULL;
    }
    return TAKE_POINTER(object);
}
