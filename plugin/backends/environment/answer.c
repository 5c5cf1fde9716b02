/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the answers: see answer.h. Paths of an archive may be any bytes. */
#include "backends/environment/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/write_fully.h"

/* A JSON string; what is not UTF-8 is U+FFFD. */
static void put_string(FILE *line, const char *text)
{
    size_t length = 0;
    bool replaced;
    CLEANUP_FREE char *clean =
        utf8_sanitize((const unsigned char *)text, strlen(text), &length, &replaced);
    (void)fputc('"', line);
    for (size_t i = 0; clean && i < length; i++) {
        unsigned char byte = (unsigned char)clean[i];
        if (byte == '"' || byte == '\\')
            (void)fprintf(line, "\\%c", byte);
        else if (byte < 0x20)
            (void)fprintf(line, "\\u%04x", byte);
        else
            (void)fputc(byte, line);
    }
    (void)fputc('"', line);
}

static void put_member(FILE *line, const char *name, const char *text)
{
    (void)fprintf(line, ", \"%s\": ", name);
    put_string(line, text);
}

static int send_line(FILE *stream, char *const *text, const size_t *length)
{
    if (fflush(stream) != 0 || ferror(stream))
        return 1;
    return write_fully(STDOUT_FILENO, *text, *length) ? 0 : 1;
}

int answer_install(const struct outcome *outcome)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    CLEANUP_FILE FILE *line = open_memstream(&text, &length);
    if (!line)
        return 1;
    if (outcome->is_good) {
        (void)fprintf(line, "{\"sha256\": \"%s\", \"bytes\": %" PRIu64 ", \"files\": %" PRIu64,
                      outcome->sha256, outcome->bytes, outcome->files);
        put_member(line, "stamp", outcome->stamp);
    } else {
        (void)fputs("{\"error\": ", line);
        put_string(line, outcome->error.message);
        put_member(line, "path", outcome->place);
    }
    (void)fputs("}\n", line);
    return send_line(line, &text, &length) || !outcome->is_good;
}

int answer_verify(const struct outcome *outcome)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    CLEANUP_FILE FILE *line = open_memstream(&text, &length);
    if (!line)
        return 1;
    if (outcome->is_good) {
        (void)fprintf(line, "{\"sha256\": \"%s\"", outcome->sha256);
        put_member(line, "stamp", outcome->stamp);
        put_member(line, "recorded_stamp", outcome->recorded_stamp);
    } else {
        (void)fputs("{\"changed\": ", line);
        put_string(line, outcome->place);
        put_member(line, "error", outcome->error.message);
    }
    (void)fputs("}\n", line);
    return send_line(line, &text, &length) || !outcome->is_good;
}
