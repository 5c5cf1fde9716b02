/* SPDX-License-Identifier: Apache-2.0 */
/* Reading replies: see tool_reply.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "tools/tool_answer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "json/json_input.h"
#include "json/json_place.h"
#include "json/json_text.h"

#define UNKNOWN_TYPE  "application/octet-stream"
#define TYPE_OF_LINKS "text/uri-list" /* RFC 2483 */
#define URI_LIMIT     8192            /* bytes */

enum block_type { BLOCK_TEXT, BLOCK_IMAGE, BLOCK_AUDIO, BLOCK_RESOURCE };

static const char *const type_names[] = {"text", "image", "audio", "resource"};

/* One block; all borrowed from the reply. */
struct block {
    size_t index;
    enum block_type type;
    const json_t *text;    /* a string; NULL: it has data */
    const json_t *data;    /* a string, Base64 */
    const char *mime_type; /* NULL: unknown, of a text */
    const char *uri;       /* NULL: none */
    bool is_link;          /* to a resource, which is its text */
};

struct reply {
    struct json_place place;
    json_t *json;
    const json_t *content;    /* NULL: none, as in the next */
    const json_t *structured; /* any value but null */
    bool is_error;
    size_t limit; /* bytes of the answer */
};

/* The member of either name; null is none, as some hosts write what is absent. */
static bool find_member(const struct json_place *place, const json_t *object, const char *name,
                        const char *other_name, json_t **ret)
{
    json_t *value = json_object_get(object, name);
    json_t *other = json_object_get(object, other_name);
    if (value && other)
        return json_place_refuse(place, "has both %s and %s", name, other_name);
    value = value ? value : other;
    *ret = json_is_null(value) ? NULL : value;
    return true;
}

static bool read_error_flag(const struct json_place *root, const json_t *json, bool *ret)
{
    json_t *value = NULL;
    struct json_place place = json_place_named(root, "is_error");
    if (!find_member(root, json, "is_error", "isError", &value))
        return false;
    *ret = false;
    return !value || json_read_boolean(&place, value, ret);
}

static bool read_whole(const struct json_place *root, struct reply *reply)
{
    struct json_place place = json_place_named(root, "content");
    json_t *structured = NULL;
    reply->content = json_object_get(reply->json, "content");
    if (!find_member(root, reply->json, "structured_content", "structuredContent", &structured) ||
        !read_error_flag(root, reply->json, &reply->is_error))
        return false;
    reply->structured = structured;
    if (!reply->content && structured)
        return true;
    return json_read_array(&place, reply->content, 0, SIZE_MAX);
}

/* A string of any length, which json_input_parse() lets no NUL into. */
static bool read_text(const struct json_place *place, const json_t *object, const char *name,
                      const json_t **ret)
{
    struct json_place inner = json_place_named(place, name);
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return json_place_refuse(&inner, value ? "must be a string" : "missing");
    *ret = value;
    return true;
}

/* RFC 6838 has letters, digits and few signs on both sides of "/"; parameters may follow. */
static bool check_mime_type(const struct json_place *place, const char *text)
{
    const char *slash = strchr(text, '/');
    for (const char *byte = text; *byte != '\0'; byte++)
        if (*byte < 0x20 || *byte > 0x7E)
            slash = NULL;
    if (!slash || slash == text || slash[1] == '\0')
        return json_place_refuse(place, "must be a MIME type");
    return true;
}

static bool read_mime_type(const struct json_place *place, const json_t *object, bool optional,
                           const char **ret)
{
    struct json_place inner = json_place_named(place, "mimeType");
    json_t *value = NULL;
    if (!find_member(place, object, "mimeType", "mime_type", &value))
        return false;
    if (!value && optional)
        return true;
    return json_read_string(&inner, value, 1, TOOL_MIME_TYPE_LIMIT, ret) &&
           check_mime_type(&inner, *ret);
}

static bool read_uri(const struct json_place *place, const json_t *object, const char **ret)
{
    struct json_place inner = json_place_named(place, "uri");
    return json_read_string(&inner, json_object_get(object, "uri"), 1, URI_LIMIT, ret) &&
           json_check_no_control(&inner, *ret);
}

/* {"uri", "mimeType"?, "text" or "blob"} */
static bool read_resource(const struct json_place *place, const json_t *block, struct block *ret)
{
    struct json_place inner = json_place_named(place, "resource");
    const json_t *resource = json_object_get(block, "resource");
    if (!json_read_object(&inner, resource) || !read_uri(&inner, resource, &ret->uri) ||
        !read_mime_type(&inner, resource, true, &ret->mime_type))
        return false;
    const json_t *text = json_object_get(resource, "text");
    const json_t *blob = json_object_get(resource, "blob");
    bool has_text = text && !json_is_null(text);
    bool has_blob = blob && !json_is_null(blob);
    if (has_text == has_blob)
        return json_place_refuse(&inner, "must have either text or blob");
    if (has_blob && !ret->mime_type)
        ret->mime_type = UNKNOWN_TYPE;
    return has_text ? read_text(&inner, resource, "text", &ret->text)
                    : read_text(&inner, resource, "blob", &ret->data);
}

static bool read_link(const struct json_place *place, const json_t *block, struct block *ret)
{
    ret->is_link = true;
    ret->mime_type = TYPE_OF_LINKS;
    ret->text = json_object_get(block, "uri");
    return read_uri(place, block, &ret->uri);
}

static bool read_typed(const struct json_place *place, const json_t *block, const char *type,
                       struct block *ret)
{
    if (strcmp(type, "resource_link") == 0) {
        ret->type = BLOCK_RESOURCE;
        return read_link(place, block, ret);
    }
    for (size_t i = 0; i < COUNT_OF(type_names); i++) {
        if (strcmp(type, type_names[i]) != 0)
            continue;
        ret->type = (enum block_type)i;
        if (ret->type == BLOCK_TEXT)
            return read_text(place, block, "text", &ret->text);
        if (ret->type == BLOCK_RESOURCE)
            return read_resource(place, block, ret);
        return read_text(place, block, "data", &ret->data) &&
               read_mime_type(place, block, false, &ret->mime_type);
    }
    struct json_place inner = json_place_named(place, "type");
    return json_place_refuse(&inner, "must be text, image, audio, resource or resource_link");
}

static struct json_place place_of(const struct reply *reply, size_t index)
{
    struct json_place content = json_place_named(&reply->place, "content");
    return json_place_item(&content, index);
}

static bool read_block(const struct reply *reply, size_t index, struct block *ret)
{
    struct json_place place = place_of(reply, index);
    struct json_place type_place = json_place_named(&place, "type");
    const json_t *block = json_array_get(reply->content, index);
    const char *type = NULL;
    *ret = (struct block){.index = index};
    return json_read_object(&place, block) &&
           json_read_string(&type_place, json_object_get(block, "type"), 1, SIZE_MAX, &type) &&
           read_typed(&place, block, type, ret);
}

/* *ret is new. */
static bool decode_data(const struct reply *reply, const struct block *block, unsigned char **ret,
                        size_t *ret_length)
{
    struct json_place place = place_of(reply, block->index);
    switch (base64_decode(json_string_value(block->data), json_string_length(block->data), ret,
                          ret_length)) {
    case BASE64_OK:
        return true;
    case BASE64_OUT_OF_MEMORY:
        return json_place_out_of_memory(&place);
    case BASE64_INVALID:
        break;
    }
    return json_place_refuse(&place, "data that is not Base64");
}

/* Takes the bytes, which are new; NULL: out of memory. */
static bool give(const struct reply *reply, enum tool_answer_form form, void *bytes, size_t length,
                 struct tool_answer *ret)
{
    if (!bytes)
        return json_place_out_of_memory(&reply->place);
    *ret = (struct tool_answer){.form = form, .bytes = bytes, .length = length};
    if (length <= reply->limit)
        return true;
    tool_answer_clear(ret);
    return json_place_refuse(&reply->place, "longer than %zu bytes", reply->limit);
}

static bool give_json(const struct reply *reply, const json_t *value, struct tool_answer *ret)
{
    char *text = json_text(value, JSON_ORDER_MADE_REAL);
    return give(reply, TOOL_ANSWER_JSON, text, text ? strlen(text) : 0, ret);
}

static struct json_input_limits limits_of(size_t limit)
{
    return (struct json_input_limits){.max_bytes = limit,
                                      .max_depth = TOOL_REPLY_DEPTH_LIMIT,
                                      .max_values = TOOL_REPLY_VALUES_LIMIT};
}

static bool give_text(const struct reply *reply, const json_t *text, bool is_json,
                      struct tool_answer *ret)
{
    size_t length = json_string_length(text);
    const struct json_input_limits limits = limits_of(reply->limit);
    if (!is_json) {
        char *copy = malloc(length + 1);
        if (copy)
            memcpy(copy, json_string_value(text), length + 1);
        return give(reply, TOOL_ANSWER_TEXT, copy, length, ret);
    }
    json_auto_t *value =
        json_input_parse_any("the text of a tool with an output schema", json_string_value(text),
                             length, &limits, reply->place.code, reply->place.error);
    return value && give_json(reply, value, ret);
}

static bool give_bytes(const struct reply *reply, const struct block *block,
                       struct tool_answer *ret)
{
    CLEANUP_FREE unsigned char *data = NULL;
    size_t length = 0;
    const char *type = block->mime_type;
    size_t type_length = strlen(type);
    if (!decode_data(reply, block, &data, &length))
        return false;
    unsigned char *bytes = malloc(1 + type_length + length + 1);
    if (bytes) {
        bytes[0] = (unsigned char)type_length;
        memcpy(stpcpy((char *)bytes + 1, type), data, length);
    }
    return give(reply, TOOL_ANSWER_BYTES, bytes, 1 + type_length + length, ret);
}

static bool write_block(const struct reply *reply, const struct block *block,
                        struct json_draft *draft)
{
    const json_t *string = block->text ? block->text : block->data;
    CLEANUP_FREE unsigned char *decoded = NULL;
    size_t length = 0;
    if (block->data && !decode_data(reply, block, &decoded, &length))
        return false;
    json_draft_open(draft, NULL, '{');
    json_draft_string(draft, "type", type_names[block->type]);
    if (block->mime_type)
        json_draft_string(draft, "mime_type", block->mime_type);
    json_draft_bytes(draft, block->text ? "text" : "data", json_string_value(string),
                     json_string_length(string));
    if (block->uri)
        json_draft_string(draft, "uri", block->uri);
    json_draft_close(draft, '}');
    return true;
}

static bool give_content(const struct reply *reply, struct tool_answer *ret)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    bool is_good = true;
    json_draft_open(&draft, NULL, '[');
    for (size_t i = 0; is_good && i < json_array_size(reply->content); i++) {
        struct block block;
        is_good = read_block(reply, i, &block) && write_block(reply, &block, &draft);
    }
    json_draft_close(&draft, ']');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    return is_good && give(reply, TOOL_ANSWER_CONTENT, TAKE_POINTER(text), length, ret);
}

/* What the blocks say of the error: their texts, a line each. More than an error may have is not
 * kept. */
static bool join_texts(const struct reply *reply, char ret[TOOL_MESSAGE_LIMIT + 1])
{
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(reply->content); i++) {
        struct block block;
        if (!read_block(reply, i, &block))
            return false;
        if (!block.text || block.is_link)
            continue;
        if (used > 0 && used < TOOL_MESSAGE_LIMIT)
            ret[used++] = '\n';
        size_t length = json_string_length(block.text);
        if (length > TOOL_MESSAGE_LIMIT - used)
            length = TOOL_MESSAGE_LIMIT - used;
        memcpy(ret + used, json_string_value(block.text), length);
        used += length;
    }
    ret[used] = '\0';
    return true;
}

static bool give_error(const struct reply *reply, struct tool_answer *ret)
{
    char message[TOOL_MESSAGE_LIMIT + 1];
    if (!join_texts(reply, message))
        return false;
    const char *shown = message[0] != '\0' ? message : tool_error_meaning(TOOL_ERROR_TOOL_ERROR);
    return tool_error_answer(TOOL_ERROR_TOOL_ERROR, shown, false, ret) ||
           json_place_out_of_memory(&reply->place);
}

static bool give_one(const struct reply *reply, bool has_output_schema, struct tool_answer *ret)
{
    struct block block;
    if (!read_block(reply, 0, &block))
        return false;
    if (block.is_link)
        return give_content(reply, ret);
    if (block.data)
        return give_bytes(reply, &block, ret);
    return give_text(reply, block.text, has_output_schema && block.type == BLOCK_TEXT, ret);
}

static bool give_answer(const struct reply *reply, bool has_output_schema, struct tool_answer *ret)
{
    size_t count = json_array_size(reply->content);
    if (reply->is_error)
        return give_error(reply, ret);
    if (reply->structured)
        return give_json(reply, reply->structured, ret);
    if (count == 0)
        return give_json(reply, json_null(), ret);
    return count == 1 ? give_one(reply, has_output_schema, ret) : give_content(reply, ret);
}

bool tool_reply_read(const char *reply_json, size_t length, size_t limit, bool has_output_schema,
                     struct tool_answer *ret, struct error *error)
{
    const struct json_input_limits limits = limits_of(limit);
    json_auto_t *json =
        json_input_parse("reply", reply_json, length, &limits, ERROR_INVALID_HOST, error);
    struct reply reply = {
        .place = json_place_root("reply", ERROR_INVALID_HOST, error), .json = json, .limit = limit};
    return json && read_whole(&reply.place, &reply) && give_answer(&reply, has_output_schema, ret);
}
