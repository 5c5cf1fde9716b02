/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the forms of a result and the rows that they become: see result_bundle.h. Runs in the
 * gateway, on the thread inside tool_invoke(). */
#include "results/result_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define NAME_LIMIT     256  /* bytes of a type's or an exception's name */
#define ALT_LIMIT      1024 /* of the description of an image */
#define PATH_LIMIT     4096
#define FRAMES_LIMIT   128 /* of a traceback */
#define URI_LIMIT      96
#define CUT_MARK       "..." /* at the end of a text that was cut */
#define FIRST_BYTES(x) .begin = (x), .begin_length = sizeof(x) - 1

enum form_content {
    FORM_TEXT,
    FORM_IMAGE, /* Base64 */
    FORM_JSON,  /* any value; shown as its text */
};

struct form {
    const char *mime_type;
    enum form_content content;
    const char *type; /* of the row that it is the main form of */
    bool active;      /* what shows it may run scripts in it */
    bool can_be_cut;  /* its beginning is one of its kind */
    const char *begin;
    size_t begin_length;
};

/* The first one that a result has is its main form. */
static const struct form forms[] = {
    {.mime_type = "image/png",
     .content = FORM_IMAGE,
     .type = "image",
     FIRST_BYTES("\x89PNG\r\n\x1a\n")},
    {.mime_type = "image/jpeg",
     .content = FORM_IMAGE,
     .type = "image",
     FIRST_BYTES("\xff\xd8\xff")},
    {.mime_type = "application/vnd.vegalite.v5+json", .content = FORM_JSON, .type = "resource"},
    {.mime_type = "application/vnd.plotly.v1+json", .content = FORM_JSON, .type = "resource"},
    {.mime_type = "image/svg+xml", .content = FORM_TEXT, .type = "resource", .active = true},
    {.mime_type = "text/markdown", .content = FORM_TEXT, .type = "text"},
    {.mime_type = "text/plain", .content = FORM_TEXT, .type = "text", .can_be_cut = true},
    {.mime_type = "application/json", .content = FORM_JSON, .type = "text"},
    {.mime_type = "text/html", .content = FORM_TEXT, .type = "resource", .active = true},
};

/* The texts of a result's forms, in the order of the table; NULL: it has not that form. */
struct bundle {
    char *texts[COUNT_OF(forms)];
    size_t lengths[COUNT_OF(forms)];
    bool is_cut;
};

static void clear_bundle(struct bundle *bundle)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        free(bundle->texts[i]);
}

const char *result_omission_name(enum result_omission omission)
{
    static const char *const names[] = {
#define X(constant, name) name,
        RESULT_OMISSIONS(X)
#undef X
    };
    return names[omission];
}

void results_omit(struct results_omitted *omitted, enum result_omission reason, uint64_t count,
                  uint64_t bytes)
{
    if (omitted->count == 0)
        omitted->reason = reason;
    omitted->reasons |= 1u << reason;
    if (__builtin_add_overflow(omitted->count, count, &omitted->count) ||
        omitted->count > INT64_MAX)
        omitted->count = INT64_MAX;
    if (__builtin_add_overflow(omitted->bytes, bytes, &omitted->bytes) ||
        omitted->bytes > INT64_MAX)
        omitted->bytes = INT64_MAX;
}

/* RESULT_OMISSION_COUNT: it may be shown. */
static enum result_omission judge_image(const struct form *form, const char *text, size_t length,
                                        uint64_t limit)
{
    CLEANUP_FREE unsigned char *bytes = NULL;
    size_t decoded = 0;
    enum base64_result result = base64_decode(text, length, &bytes, &decoded);
    if (result == BASE64_OUT_OF_MEMORY)
        return RESULT_OMITTED_MEMORY;
    if (result != BASE64_OK || decoded < form->begin_length ||
        memcmp(bytes, form->begin, form->begin_length) != 0)
        return RESULT_OMITTED_INVALID;
    return decoded > limit ? RESULT_OMITTED_IMAGE_BYTES : RESULT_OMISSION_COUNT;
}

/* The same of any form. */
static enum result_omission judge_text(const struct form *form, const struct bundle_rules *rules,
                                       const char *text, size_t length)
{
    if (form->content != FORM_IMAGE)
        return length > rules->limits->text_bytes ? RESULT_OMITTED_TEXT_BYTES
                                                  : RESULT_OMISSION_COUNT;
    if (rules->has_secrets && !rules->limits->images_with_secrets)
        return RESULT_OMITTED_WITHHELD;
    return judge_image(form, text, length, rules->limits->image_bytes);
}

/* The text of a form, new; NULL when out of memory. The value is one of its kind. */
static char *copy_text(const struct form *form, const json_t *value, size_t *ret_length)
{
    if (form->content == FORM_JSON) {
        char *text = json_text(value, JSON_ORDER_MADE_REAL);
        *ret_length = text ? strlen(text) : 0;
        return text;
    }
    *ret_length = json_string_length(value);
    char *text = malloc(*ret_length + 1);
    if (text)
        memcpy(text, json_string_value(value), *ret_length + 1);
    return text;
}

/* A text beyond the limit keeps its beginning, and a mark behind it. */
static bool cut_text(char *text, uint64_t limit, size_t *length)
{
    if (*length <= limit || limit < strlen(CUT_MARK))
        return false;
    size_t kept = utf8_whole_prefix((const unsigned char *)text, limit - strlen(CUT_MARK));
    memcpy(text + kept, CUT_MARK, sizeof(CUT_MARK));
    *length = kept + strlen(CUT_MARK);
    return true;
}

static void take_form(size_t index, const json_t *value, const struct bundle_rules *rules,
                      struct results_omitted *omitted, struct bundle *ret)
{
    const struct form *form = &forms[index];
    size_t length = 0;
    bool is_of_kind = form->content == FORM_JSON || json_is_string(value);
    CLEANUP_FREE char *text = is_of_kind ? copy_text(form, value, &length) : NULL;
    enum result_omission omission = is_of_kind ? RESULT_OMITTED_MEMORY : RESULT_OMITTED_INVALID;
    size_t whole = length;
    if (text && form->can_be_cut && cut_text(text, rules->limits->text_bytes, &length)) {
        results_omit(omitted, RESULT_OMITTED_TEXT_BYTES, 1, whole - length);
        ret->is_cut = true;
    }
    if (text)
        omission = judge_text(form, rules, text, length);
    if (omission != RESULT_OMISSION_COUNT) {
        results_omit(omitted, omission, 1, length);
        return;
    }
    ret->texts[index] = TAKE_POINTER(text);
    ret->lengths[index] = length;
}

static bool read_forms(const json_t *data, const struct bundle_rules *rules,
                       struct results_omitted *omitted, struct bundle *ret)
{
    size_t known = 0;
    bool has_one = false;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const json_t *value = json_object_get(data, forms[i].mime_type);
        if (!value)
            continue;
        known++;
        take_form(i, value, rules, omitted, ret);
        has_one |= ret->texts[i] != NULL;
    }
    size_t unknown = json_object_size(data) - known;
    if (unknown > 0 || json_object_size(data) == 0)
        results_omit(omitted, RESULT_OMITTED_MIME_TYPE, unknown > 0 ? unknown : 1, 0);
    return has_one;
}

static void write_main(const struct form *form, const char *role, const char *text, size_t length,
                       const struct bundle_rules *rules, struct json_draft *draft)
{
    char uri[URI_LIMIT];
    json_draft_string(draft, "type", form->type);
    json_draft_string(draft, "role", role);
    json_draft_string(draft, "mime_type", form->mime_type);
    if (strcmp(form->type, "resource") == 0) {
        (void)snprintf(uri, sizeof(uri), "code-execute://run/%s/results/%zu", rules->run_id,
                       rules->index);
        json_draft_string(draft, "uri", uri);
    }
    json_draft_bytes(draft, form->content == FORM_IMAGE ? "data" : "text", text, length);
}

static void write_alternatives(const struct bundle *bundle, size_t main_form,
                               struct json_draft *draft)
{
    bool is_open = false;
    for (size_t i = main_form + 1; i < COUNT_OF(forms); i++) {
        if (!bundle->texts[i])
            continue;
        if (!is_open)
            json_draft_open(draft, "alternatives", '{');
        is_open = true;
        json_draft_bytes(draft, forms[i].mime_type, bundle->texts[i], bundle->lengths[i]);
    }
    if (is_open)
        json_draft_close(draft, '}');
}

static void write_flags(const struct bundle *bundle, const struct bundle_rules *rules,
                        struct json_draft *draft)
{
    bool active = false;
    bool has_image = false;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        active |= bundle->texts[i] && forms[i].active;
        has_image |= bundle->texts[i] && forms[i].content == FORM_IMAGE;
    }
    if (active)
        json_draft_boolean(draft, "active", true);
    if (has_image && rules->has_secrets)
        json_draft_boolean(draft, "not_scanned", true);
    if (bundle->is_cut)
        json_draft_boolean(draft, "truncated", true);
}

/* A text of at most so many bytes, or nothing. */
static bool is_short(const json_t *value, size_t limit)
{
    return json_is_string(value) && json_string_length(value) <= limit;
}

static bool is_short_or_absent(const json_t *value, size_t limit)
{
    return !value || json_is_null(value) || is_short(value, limit);
}

static bool is_object_or_absent(const json_t *value)
{
    return !value || json_is_null(value) || json_is_object(value);
}

static bool has_role(const json_t *result)
{
    const char *role = json_string_value(json_object_get(result, "role"));
    return role && (strcmp(role, "value") == 0 || strcmp(role, "display") == 0);
}

static bool is_result(const json_t *result)
{
    return has_role(result) && json_is_object(json_object_get(result, "data")) &&
           is_short_or_absent(json_object_get(result, "type_name"), NAME_LIMIT) &&
           is_short_or_absent(json_object_get(result, "alt"), ALT_LIMIT) &&
           is_object_or_absent(json_object_get(result, "table")) &&
           is_object_or_absent(json_object_get(result, "chart"));
}

/* The members that a row takes over as they are. */
static void write_facts(const json_t *result, struct json_draft *draft)
{
    static const char *const names[] = {"type_name", "table", "chart", "alt"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        json_t *value = json_object_get(result, names[i]);
        if (value && !json_is_null(value))
            json_draft_value(draft, names[i], json_incref(value));
    }
}

bool result_bundle_write(const json_t *result, const struct bundle_rules *rules,
                         struct results_omitted *omitted, struct json_draft *draft)
{
    CLEANUP(clear_bundle) struct bundle bundle = {.texts = {NULL}};
    if (!is_result(result)) {
        results_omit(omitted, RESULT_OMITTED_INVALID, 1, 0);
        return false;
    }
    if (!read_forms(json_object_get(result, "data"), rules, omitted, &bundle))
        return false;
    size_t main_form = 0;
    while (!bundle.texts[main_form])
        main_form++;
    const char *role = json_string_value(json_object_get(result, "role"));
    json_draft_open(draft, NULL, '{');
    write_main(&forms[main_form], role, bundle.texts[main_form], bundle.lengths[main_form], rules,
               draft);
    write_alternatives(&bundle, main_form, draft);
    write_facts(result, draft);
    write_flags(&bundle, rules, draft);
    json_draft_close(draft, '}');
    return true;
}

static bool is_frame(const json_t *frame)
{
    const json_t *line = json_object_get(frame, "line");
    return json_is_object(frame) && is_short(json_object_get(frame, "file"), PATH_LIMIT) &&
           (!line || json_is_null(line) ||
            (json_is_integer(line) && json_integer_value(line) >= 0)) &&
           is_short_or_absent(json_object_get(frame, "function"), PATH_LIMIT);
}

static bool is_exception(const json_t *exception, const struct policy_results *limits)
{
    size_t i;
    json_t *frame;
    json_t *frames = json_object_get(exception, "frames");
    if (!is_short(json_object_get(exception, "name"), NAME_LIMIT) ||
        !is_short(json_object_get(exception, "value"), limits->text_bytes) ||
        !json_is_array(frames) || json_array_size(frames) > FRAMES_LIMIT)
        return false;
    json_array_foreach(frames, i, frame) if (!is_frame(frame)) return false;
    return true;
}

static void write_member(const json_t *object, const char *name, struct json_draft *draft)
{
    json_t *value = json_object_get(object, name);
    json_draft_value(draft, name, value ? json_incref(value) : json_null());
}

bool result_exception_write(const json_t *exception, const struct policy_results *limits,
                            struct json_draft *draft)
{
    size_t i;
    json_t *frame;
    if (!is_exception(exception, limits))
        return false;
    json_draft_open(draft, NULL, '{');
    write_member(exception, "name", draft);
    write_member(exception, "value", draft);
    json_draft_open(draft, "frames", '[');
    json_array_foreach(json_object_get(exception, "frames"), i, frame)
    {
        json_draft_open(draft, NULL, '{');
        write_member(frame, "file", draft);
        write_member(frame, "line", draft);
        write_member(frame, "function", draft);
        json_draft_close(draft, '}');
    }
    json_draft_close(draft, ']');
    json_draft_close(draft, '}');
    return true;
}
