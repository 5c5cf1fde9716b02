/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the tables of types: see artifact.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "artifacts/artifact.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define ZIP "application/zip"
#define XML "application/xml"

struct signature {
    size_t offset;
    const char *bytes;
    size_t length;
    struct mime_type type;
};

#define BEGINS(text)      0, text, sizeof(text) - 1
#define HAS(offset, text) offset, text, sizeof(text) - 1

/* A document of PDF may have scripts of its own. */
static const struct signature signatures[] = {
    {BEGINS("\x89PNG\r\n\x1a\n"), {"image/png", false}},
    {BEGINS("\xff\xd8\xff"), {"image/jpeg", false}},
    {BEGINS("GIF87a"), {"image/gif", false}},
    {BEGINS("GIF89a"), {"image/gif", false}},
    {HAS(8, "WEBP"), {"image/webp", false}},
    {HAS(8, "WAVE"), {"audio/wav", false}},
    {HAS(4, "ftyp"), {"video/mp4", false}},
    {BEGINS("II*\0"), {"image/tiff", false}},
    {BEGINS("MM\0*"), {"image/tiff", false}},
    {BEGINS("%PDF-"), {"application/pdf", true}},
    {BEGINS("PK\x03\x04"), {ZIP, false}},
    {BEGINS("\x1f\x8b"), {"application/gzip", false}},
    {BEGINS("BZh"), {"application/x-bzip2", false}},
    {BEGINS("\xfd"
            "7zXZ\0"),
     {"application/x-xz", false}},
    {BEGINS("\x28\xb5\x2f\xfd"), {"application/zstd", false}},
    {BEGINS("PAR1"), {"application/vnd.apache.parquet", false}},
    {BEGINS("ARROW1"), {"application/vnd.apache.arrow.file", false}},
    {BEGINS("SQLite format 3\0"), {"application/vnd.sqlite3", false}},
    {BEGINS("\x89HDF\r\n\x1a\n"), {"application/x-hdf5", false}},
    {BEGINS("OggS"), {"audio/ogg", false}},
    {BEGINS("ID3"), {"audio/mpeg", false}},
    {BEGINS("\x7f"
            "ELF"),
     {"application/x-executable", false}},
};

/* Markup that a browser takes for a document, without regard to case and leading space. */
static const struct signature markup[] = {
    {BEGINS("<!doctype html"), {"text/html", true}},
    {BEGINS("<html"), {"text/html", true}},
    {BEGINS("<head"), {"text/html", true}},
    {BEGINS("<body"), {"text/html", true}},
    {BEGINS("<script"), {"text/html", true}},
    {BEGINS("<svg"), {"image/svg+xml", true}},
    {BEGINS("<!doctype svg"), {"image/svg+xml", true}},
    {BEGINS("<?xml"), {XML, true}},
};

enum ending_use {
    OF_TEXT,   /* the file is text */
    OF_BINARY, /* it is not, and its first bytes tell nothing */
    OF_ZIP,    /* it is an archive of that form */
};

static const struct {
    const char *ending;
    enum ending_use use;
    struct mime_type type;
} endings[] = {
    {"html", OF_TEXT, {"text/html", true}},
    {"htm", OF_TEXT, {"text/html", true}},
    {"xhtml", OF_TEXT, {"application/xhtml+xml", true}},
    {"svg", OF_TEXT, {"image/svg+xml", true}},
    {"xml", OF_TEXT, {XML, true}},
    {"js", OF_TEXT, {"text/javascript", true}},
    {"mjs", OF_TEXT, {"text/javascript", true}},
    {"csv", OF_TEXT, {"text/csv", false}},
    {"tsv", OF_TEXT, {"text/tab-separated-values", false}},
    {"json", OF_TEXT, {"application/json", false}},
    {"jsonl", OF_TEXT, {"application/jsonl", false}},
    {"ndjson", OF_TEXT, {"application/jsonl", false}},
    {"geojson", OF_TEXT, {"application/geo+json", false}},
    {"ipynb", OF_TEXT, {"application/x-ipynb+json", false}},
    {"yaml", OF_TEXT, {"application/yaml", false}},
    {"yml", OF_TEXT, {"application/yaml", false}},
    {"md", OF_TEXT, {"text/markdown", false}},
    {"css", OF_TEXT, {"text/css", false}},
    {"py", OF_TEXT, {"text/x-python", false}},
    {"sh", OF_TEXT, {"text/x-shellscript", false}},
    {"tex", OF_TEXT, {"text/x-tex", false}},
    {"xlsx", OF_ZIP, {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false}},
    {"docx",
     OF_ZIP,
     {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", false}},
    {"pptx",
     OF_ZIP,
     {"application/vnd.openxmlformats-officedocument.presentationml.presentation", false}},
    {"ods", OF_ZIP, {"application/vnd.oasis.opendocument.spreadsheet", false}},
    {"odt", OF_ZIP, {"application/vnd.oasis.opendocument.text", false}},
    {"epub", OF_ZIP, {"application/epub+zip", true}},
    {"jar", OF_ZIP, {"application/java-archive", false}},
    {"npy", OF_BINARY, {"application/x-npy", false}},
    {"pkl", OF_BINARY, {"application/x-python-pickle", false}},
    {"mp3", OF_BINARY, {"audio/mpeg", false}},
    {"tar", OF_BINARY, {"application/x-tar", false}},
};

static const struct mime_type nothing = {NULL, false};

static struct mime_type by_signature(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(signatures); i++) {
        const struct signature *row = &signatures[i];
        if (length >= row->offset + row->length &&
            memcmp(bytes + row->offset, row->bytes, row->length) == 0)
            return row->type;
    }
    return nothing;
}

static bool contains_folded(const char *text, size_t length, const char *word)
{
    size_t wanted = strlen(word);
    for (size_t i = 0; i + wanted <= length; i++)
        if (strncasecmp(text + i, word, wanted) == 0)
            return true;
    return false;
}

/* Behind what a browser skips as well: a byte order mark, space, comments are not looked for. */
static struct mime_type by_markup(const unsigned char *bytes, size_t length)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const char *text = (const char *)bytes;
    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0)
        text += 3, length -= 3;
    while (length > 0 && strchr(" \t\r\n\f", *text) && *text != '\0')
        text++, length--;
    for (size_t i = 0; i < COUNT_OF(markup); i++) {
        if (length < markup[i].length || strncasecmp(text, markup[i].bytes, markup[i].length) != 0)
            continue;
        if (strcmp(markup[i].type.name, XML) != 0)
            return markup[i].type;
        if (contains_folded(text, length, "<svg"))
            return (struct mime_type){"image/svg+xml", true};
        return contains_folded(text, length, "<html") ? (struct mime_type){"text/html", true}
                                                      : markup[i].type;
    }
    return nothing;
}

static struct mime_type by_ending(const char *path, enum ending_use use)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    for (size_t i = 0; dot && i < COUNT_OF(endings); i++)
        if (endings[i].use == use && strcasecmp(dot + 1, endings[i].ending) == 0)
            return endings[i].type;
    return nothing;
}

static struct mime_type type_of_text(const char *path, const unsigned char *bytes, size_t length)
{
    struct mime_type found = by_markup(bytes, length);
    struct mime_type named = by_ending(path, OF_TEXT);
    if (found.name)
        return found;
    return named.name ? named : (struct mime_type){"text/plain", false};
}

static struct mime_type type_of_bytes(const char *path, const unsigned char *bytes, size_t length)
{
    struct mime_type found = by_signature(bytes, length);
    struct mime_type named = nothing;
    if (found.name && strcmp(found.name, ZIP) == 0)
        named = by_ending(path, OF_ZIP);
    else if (!found.name)
        named = by_ending(path, OF_BINARY);
    if (named.name)
        return named;
    return found.name ? found : (struct mime_type){"application/octet-stream", false};
}

/* Of text only the signature of an active type counts: words may begin like the others. */
struct mime_type mime_type_of(const char *path, const unsigned char *bytes, size_t length,
                              bool is_text)
{
    struct mime_type type = is_text && !by_signature(bytes, length).active
                                ? type_of_text(path, bytes, length)
                                : type_of_bytes(path, bytes, length);
    type.active |= by_ending(path, OF_TEXT).active || by_markup(bytes, length).active;
    return type;
}
