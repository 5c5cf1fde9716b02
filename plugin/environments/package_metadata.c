/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the forms in which packages say what they are: see package_metadata.h. */
#include "environments/package_metadata.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"

bool package_name_is_valid(const char *name)
{
    return ascii_consists_of(name, PACKAGE_NAME_LIMIT, ASCII_ALPHANUMERIC "._-+@/") &&
           name[0] != '.' && name[0] != '-';
}

/* As PEP 440 and semver have them. */
static bool version_is_valid(const char *version)
{
    return ascii_consists_of(version, PACKAGE_VERSION_LIMIT, ASCII_ALPHANUMERIC ".!+-_~");
}

/* false where it has no room. */
static bool copy(const char *text, size_t length, char *ret, size_t size)
{
    if (length >= size)
        return false;
    memcpy(ret, text, length);
    ret[length] = '\0';
    return true;
}

static void take_name(const char *text, size_t length, struct package_facts *facts)
{
    char name[PACKAGE_NAME_LIMIT + 1];
    if (copy(text, length, name, sizeof(name)) && package_name_is_valid(name))
        memcpy(facts->name, name, sizeof(name));
}

static void take_version(const char *text, size_t length, struct package_facts *facts)
{
    char version[PACKAGE_VERSION_LIMIT + 1];
    if (copy(text, length, version, sizeof(version)) && version_is_valid(version))
        memcpy(facts->version, version, sizeof(version));
}

bool package_facts_of_entry(const char *entry, struct package_facts *ret)
{
    static const char *const endings[] = {".dist-info", ".egg-info"};
    size_t length = strlen(entry);
    size_t stem = 0;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t size = strlen(endings[i]);
        if (length > size && strcmp(entry + length - size, endings[i]) == 0)
            stem = length - size;
    }
    struct package_facts facts = {.name = ""};
    const char *dash = memchr(entry, '-', stem);
    size_t name = dash ? (size_t)(dash - entry) : stem;
    take_name(entry, name, &facts);
    if (facts.name[0] == '\0')
        return false;
    if (dash) {
        const char *end = memchr(dash + 1, '-', stem - name - 1);
        take_version(dash + 1, (size_t)((end ? end : entry + stem) - dash - 1), &facts);
    }
    *ret = facts;
    return true;
}

/* The rest of a line behind its name and spaces; NULL: it is another header. */
static const char *value_of(const char *line, size_t length, const char *header, size_t *ret_length)
{
    size_t size = strlen(header);
    if (length <= size || strncasecmp(line, header, size) != 0)
        return NULL;
    const char *value = line + size;
    const char *end = line + length;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\r'))
        end--;
    *ret_length = (size_t)(end - value);
    return value;
}

void package_facts_add_headers(const char *text, size_t length, struct package_facts *facts)
{
    const char *end = text + length;
    for (const char *newline; (newline = memchr(text, '\n', (size_t)(end - text)));
         text = newline + 1) {
        size_t size = 0;
        const char *value;
        if (newline == text || (newline == text + 1 && *text == '\r')) /* behind it is prose */
            return;
        if ((value = value_of(text, (size_t)(newline - text), "Name:", &size)))
            take_name(value, size, facts);
        else if ((value = value_of(text, (size_t)(newline - text), "Version:", &size)))
            take_version(value, size, facts);
    }
}

/* Behind the string that begins there; its end is NUL where it has none. */
static const char *skip_string(const char *quote)
{
    const char *at = quote + 1;
    while (*at && *at != '"')
        at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

static const char *skip_spaces(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* The value of a member, where the string that begins there is its name; else NULL. */
static const char *value_behind(const char *quote, const char *name)
{
    const char *end = skip_string(quote);
    const char *colon = skip_spaces(end);
    size_t length = strlen(name);
    if (*colon != ':' || (size_t)(end - quote) != length + 2 ||
        strncmp(quote + 1, name, length) != 0)
        return NULL;
    return skip_spaces(colon + 1);
}

void package_facts_add_json(const char *text, struct package_facts *facts)
{
    int depth = 0;
    for (const char *at = text; *at;) {
        const char *value = *at == '"' && depth == 1 ? value_behind(at, "version") : NULL;
        if (value && *value == '"') {
            size_t length = strcspn(value + 1, "\"");
            if (value[1 + length] == '"') /* what has an escape is no version */
                take_version(value + 1, length, facts);
            return;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at = *at == '"' ? skip_string(at) : at + 1;
    }
}

static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    if (c == '_' || c == '.')
        return '-';
    return c;
}

bool package_names_equal(const char *one, const char *other)
{
    while (*one && folded(*one) == folded(*other)) {
        one++;
        other++;
    }
    return *one == '\0' && *other == '\0';
}
