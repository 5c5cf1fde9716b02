/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names and the frame: see defined_names.h. */
#include "interpreter/shell/defined_names.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "interpreter/cell/cell.h"
#include "protocol/session.h"

/* What bash defines by itself as it executes a cell. */
static const char *const of_the_shell[] = {"OLDPWD", "PIPESTATUS", "COLUMNS", "LINES", "FUNCNAME"};

static bool is_of_the_shell(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(of_the_shell); i++)
        if (strcmp(name, of_the_shell[i]) == 0)
            return true;
    return strncmp(name, "BASH", strlen("BASH")) == 0;
}

/* A function of bash can have nearly any name: here only those that need no care in JSON. */
static bool is_plain(const char *name)
{
    return ascii_is_letter(name[0]) &&
           ascii_consists_of(name, SESSION_NAME_BYTES, ASCII_ALPHANUMERIC "_-.:+");
}

void defined_names_add(struct defined_names *names, const char *name)
{
    if (is_plain(name) && !is_of_the_shell(name))
        (void)string_list_append(&names->told, name);
}

void defined_names_begin(struct defined_names *names)
{
    names->known = TAKE_POINTER(names->told);
    names->begun = true;
}

void defined_names_forget(struct defined_names *names)
{
    string_list_free(TAKE_POINTER(names->told));
}

static bool is_new(const struct defined_names *names, const char *name)
{
    return !names->known || !string_list_contains(names->known, name);
}

static size_t count_new(const struct defined_names *names)
{
    size_t count = 0;
    for (char **name = names->told; name && *name; name++)
        count += is_new(names, *name);
    return count;
}

static void put_names(struct wire_writer *frame, const struct defined_names *names)
{
    size_t count = count_new(names);
    size_t left_out = count > SESSION_NAMES_MOST ? count - SESSION_NAMES_MOST : 0;
    const char *separator = "";
    for (char **name = names->told; name && *name; name++) {
        if (!is_new(names, *name) || (left_out > 0 && left_out-- > 0))
            continue;
        char text[SESSION_NAME_BYTES + 4];
        int length = snprintf(text, sizeof(text), "%s\"%s\"", separator, *name);
        wire_put_raw(frame, text, (size_t)length);
        separator = ",";
    }
}

void defined_names_write_end(const struct defined_names *names, uint32_t exit_code,
                             bool home_is_empty, struct wire_writer *frame)
{
    struct wire_writer payload = {.limit = frame->limit};
    char begin[64];
    const char *end = home_is_empty ? "],\"home_is_empty\":true}" : "]}";
    int length =
        snprintf(begin, sizeof(begin), "{\"exit_code\":%u,\"defined\":[", (unsigned int)exit_code);
    wire_put_raw(&payload, begin, (size_t)length);
    put_names(&payload, names);
    wire_put_raw(&payload, end, strlen(end));
    const unsigned char kind = CELL_FRAME_ENDED;
    wire_put_u32(frame, (uint32_t)payload.length);
    wire_put_raw(frame, &kind, sizeof(kind));
    wire_put_raw(frame, payload.bytes, payload.length);
    frame->failed = frame->failed || payload.failed;
    free(payload.bytes);
}
