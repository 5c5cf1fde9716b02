/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's reply to a call: an answer has the form that a plain reading of the reply gives,
 * says the same, and fits its bound. Each input is tried with an output schema and without.
 */
#include <jansson.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "fuzz.h"
#include "tools/tool_answer.h"

#define LIMIT 4096
#define FLAGS (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)

static json_t *either(const json_t *object, const char *name, const char *other)
{
    json_t *value = json_object_get(object, name);
    json_t *otherwise = json_object_get(object, other);
    MUST(!value || !otherwise); /* that is refused */
    value = value ? value : otherwise;
    return json_is_null(value) ? NULL : value;
}

static json_t *parsed(const struct tool_answer *answer)
{
    json_t *value = json_loadb((const char *)answer->bytes, answer->length, FLAGS, NULL);
    MUST(value);
    return value;
}

/* The text or data of a block, wherever it is; NULL: it is a link. */
static const json_t *content_of(const json_t *block, bool *ret_is_data)
{
    const json_t *resource = json_object_get(block, "resource");
    const json_t *inside =
        json_is_string(json_object_get(block, "type")) &&
                strcmp(json_string_value(json_object_get(block, "type")), "resource") == 0
            ? resource
            : block;
    bool has_text = json_is_string(json_object_get(inside, "text"));
    const char *type = json_string_value(json_object_get(block, "type"));
    MUST(type);
    *ret_is_data = strcmp(type, "image") == 0 || strcmp(type, "audio") == 0 ||
                   (inside == resource && !has_text);
    if (strcmp(type, "resource_link") == 0)
        return NULL;
    if (!*ret_is_data)
        return json_object_get(inside, "text");
    return json_object_get(inside, inside == resource ? "blob" : "data");
}

static void must_be_bytes(const struct tool_answer *answer, const json_t *data)
{
    MUST(answer->length > 0 && answer->bytes[0] > 0 && answer->length > (size_t)answer->bytes[0]);
    size_t begin = 1 + (size_t)answer->bytes[0];
    CLEANUP_FREE char *text = base64_encode(answer->bytes + begin, answer->length - begin);
    MUST(text && strcmp(text, json_string_value(data)) == 0);
    MUST(memchr(answer->bytes + 1, '/', begin - 1));
}

static void must_be_block(const json_t *block, const json_t *source)
{
    bool is_data = false;
    const json_t *content = content_of(source, &is_data);
    const json_t *said = json_object_get(block, is_data ? "data" : "text");
    MUST(json_is_string(json_object_get(block, "type")));
    MUST(content ? json_equal(said, content) : json_equal(said, json_object_get(source, "uri")));
    MUST(!is_data || json_is_string(json_object_get(block, "mime_type")));
}

static void must_be_content(const struct tool_answer *answer, const json_t *content)
{
    json_auto_t *blocks = parsed(answer);
    MUST(json_is_array(blocks) && json_array_size(blocks) == json_array_size(content));
    for (size_t i = 0; i < json_array_size(blocks); i++)
        must_be_block(json_array_get(blocks, i), json_array_get(content, i));
}

static void must_be_error(const struct tool_answer *answer)
{
    json_auto_t *value = parsed(answer);
    const char *code = json_string_value(json_object_get(value, "code"));
    const json_t *message = json_object_get(value, "message");
    MUST(answer->code == TOOL_ERROR_TOOL_ERROR && code && strcmp(code, "tool_error") == 0);
    MUST(json_string_length(message) > 0 && json_string_length(message) <= TOOL_MESSAGE_LIMIT);
    MUST(json_is_false(json_object_get(value, "retryable")) && json_object_size(value) == 3);
}

static void must_be_json(const struct tool_answer *answer, const json_t *value)
{
    json_auto_t *said = parsed(answer);
    MUST(json_equal(said, value));
}

static void must_be_one(const struct tool_answer *answer, const json_t *content,
                        bool has_output_schema)
{
    const json_t *block = json_array_get(content, 0);
    bool is_data = false;
    const json_t *said = content_of(block, &is_data);
    const char *type = json_string_value(json_object_get(block, "type"));
    if (!said) {
        MUST(answer->form == TOOL_ANSWER_CONTENT);
        must_be_content(answer, content);
    } else if (is_data) {
        MUST(answer->form == TOOL_ANSWER_BYTES);
        must_be_bytes(answer, said);
    } else if (has_output_schema && strcmp(type, "text") == 0) {
        json_auto_t *value =
            json_loadb(json_string_value(said), json_string_length(said), FLAGS, NULL);
        MUST(value && answer->form == TOOL_ANSWER_JSON);
        must_be_json(answer, value);
    } else {
        MUST(answer->form == TOOL_ANSWER_TEXT && answer->length == json_string_length(said) &&
             memcmp(answer->bytes, json_string_value(said), answer->length) == 0);
    }
}

static void must_answer(const struct tool_answer *answer, const json_t *reply,
                        bool has_output_schema)
{
    const json_t *content = json_object_get(reply, "content");
    const json_t *structured = either(reply, "structured_content", "structuredContent");
    if (json_is_true(either(reply, "is_error", "isError"))) {
        MUST(answer->form == TOOL_ANSWER_ERROR);
        must_be_error(answer);
        return;
    }
    MUST(answer->length <= LIMIT);
    if (structured || json_array_size(content) == 0) {
        MUST(answer->form == TOOL_ANSWER_JSON);
        must_be_json(answer, structured ? structured : json_null());
    } else if (json_array_size(content) == 1) {
        must_be_one(answer, content, has_output_schema);
    } else {
        MUST(answer->form == TOOL_ANSWER_CONTENT);
        must_be_content(answer, content);
    }
}

static void try_reply(const uint8_t *bytes, size_t size, bool has_output_schema)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
    struct error error = {.code = ERROR_CODE_COUNT};
    if (!tool_reply_read((const char *)bytes, size, LIMIT, has_output_schema, &answer, &error)) {
        MUST(error.code == ERROR_INVALID_HOST && error.message[0] != '\0' && !answer.bytes);
        return;
    }
    json_auto_t *reply = json_loadb((const char *)bytes, size, FLAGS, NULL);
    MUST(json_is_object(reply));
    must_answer(&answer, reply, has_output_schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE uint8_t *exact = fuzz_exact(data, size);
    try_reply(exact, size, false);
    try_reply(exact, size, true);
    return 0;
}
