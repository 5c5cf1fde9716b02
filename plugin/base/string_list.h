/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL-terminated lists of strings that own their members, as policy, request and run description
 * hold them. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Room for count strings, all NULL (so the list is empty); NULL when out of memory. */
char **string_list_new(size_t count);
/* Adds a copy of the string; *list may be NULL. false when out of memory, and the list is as
 * before. */
bool string_list_append(char ***list, const char *string);
/* Adds copies of all members of more (NULL: none). */
bool string_list_append_all(char ***list, const char *const *more);
/* NULL is the empty list. */
size_t string_list_count(char *const *list);
/* Copies of the first members, at most that many; NULL when out of memory. */
char **string_list_copy(char *const *list, size_t most);
/* "a,b" with the separator ',': the caller's to free, NULL when out of memory. */
char *string_list_join(char *const *list, char separator);
/* NULL is fine. */
void string_list_free(char **list);
/* NULL is the empty list. */
bool string_list_contains(char *const *list, const char *string);

/* Like strndup(), but the bytes may hold NUL; a NUL is put behind them. */
char *copy_bytes(const char *bytes, size_t length);

/* For CLEANUP(). */
static inline void cleanup_string_list(char ***list)
{
    string_list_free(*list);
}

/* Adds the name to a text that lists names with commas, where it fits whole. */
void text_add_name(char *text, size_t size, const char *name);
