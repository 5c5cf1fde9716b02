/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: one row a refusal, and what a request that is taken looks like.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/request_fields.h"
#include "tap_suite.h"
#include "vocabulary/handle.h"

/* A request for python with more members; most rows are about one of those. */
#define WITH(members) "{\"language\":\"python\",\"code\":\"x\"," members "}"
#define FILES(files)  WITH("\"files\":[" files "]")

static const struct {
    const char *input;
    enum error_code code;
    const char *message; /* its beginning */
} refused[] = {
    {"{}", ERROR_INVALID_INPUT, "request: /language: missing"},
    {"{\"code\":\"x\"}", ERROR_INVALID_INPUT, "request: /language: missing"},
    {"{\"language\":null,\"code\":\"x\"}", ERROR_INVALID_INPUT, "request: /language: missing"},
    {"{\"language\":\"python\"}", ERROR_INVALID_INPUT, "request: /code: missing"},
    {"{\"language\":\"python\",\"code\":\"\"}", ERROR_INVALID_INPUT,
     "request: /code: must not be empty"},
    {"{\"language\":\"python\",\"code\":\"\\ufeff\"}", ERROR_INVALID_INPUT,
     "request: /code: must not be empty"},
    {"{\"language\":\"python\",\"code\":\"```\\n```\"}", ERROR_INVALID_INPUT,
     "request: /code: must not be empty"},
    {"{\"language\":\"python\",\"code\":1}", ERROR_INVALID_INPUT,
     "request: /code: must be a string"},
    {"{\"language\":1,\"code\":\"x\"}", ERROR_INVALID_INPUT,
     "request: /language: must be a string"},
    {"{\"language\":\"cobol\",\"code\":\"x\"}", ERROR_UNKNOWN_LANGUAGE,
     "request: /language: unknown language"},
    {"{\"runtime\":\"cobol\",\"code\":\"x\"}", ERROR_UNKNOWN_LANGUAGE,
     "request: /runtime: unknown language"},
    {"{\"runtime\":\"sh\",\"language\":\"sh\",\"code\":\"x\"}", ERROR_INVALID_INPUT,
     "request: /language: \"language\" and \"runtime\" are the same member"},
    {"{\"language\":\"sh\",\"runtime\":\"sh\",\"code\":\"x\"}", ERROR_INVALID_INPUT,
     "request: /runtime: \"language\" and \"runtime\" are the same member"},
    {WITH("\"timeout\":5"), ERROR_INVALID_INPUT, "request: /timeout: unknown member"},
    {WITH("\"mode\":null"), ERROR_INVALID_INPUT, "request: /mode: unknown member"},
    {WITH("\"\":1"), ERROR_INVALID_INPUT, "request: /: unknown member"},
    {WITH("\"a\\u001b/\":1"), ERROR_INVALID_INPUT, "request: /a\\x1b~1: unknown member"},
    {WITH("\"stdin\":5"), ERROR_INVALID_INPUT, "request: /stdin: must be a string"},
    {WITH("\"args\":\"a\""), ERROR_INVALID_INPUT, "request: /args: must be an array"},
    {WITH("\"args\":[\"a\",null]"), ERROR_INVALID_INPUT, "request: /args/1: must be a string"},
    {WITH("\"args\":[\"a\",\"b\",3]"), ERROR_INVALID_INPUT, "request: /args/2: must be a string"},
    {WITH("\"env\":[]"), ERROR_INVALID_INPUT, "request: /env: must be an object"},
    {WITH("\"env\":{\"A\":1}"), ERROR_INVALID_INPUT, "request: /env/A: must be a string"},
    {WITH("\"env\":{\"A\":null}"), ERROR_INVALID_INPUT, "request: /env/A: must be a string"},
    {WITH("\"env\":{\"\":\"\"}"), ERROR_INVALID_INPUT, "request: /env/: a variable's name"},
    {WITH("\"env\":{\"1A\":\"\"}"), ERROR_INVALID_INPUT, "request: /env/1A: a variable's name"},
    {WITH("\"env\":{\"A=B\":\"\"}"), ERROR_INVALID_INPUT, "request: /env/A=B: a variable's name"},
    {WITH("\"env\":{\"A-B\":\"\"}"), ERROR_INVALID_INPUT, "request: /env/A-B: a variable's name"},
    {WITH("\"env\":{\"\\u00c4\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /env/\\xc3\\x84: a variable's name"},
    {WITH("\"secrets\":[]"), ERROR_INVALID_INPUT, "request: /secrets: must be an object"},
    {WITH("\"secrets\":{\"1\":\"{{secret:a}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/1: not a variable's name"},
    {WITH("\"secrets\":{\"A\":1}"), ERROR_INVALID_INPUT, "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"a\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret:}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\" {{secret:a}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret:a}} \"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret:a}}{{secret:b}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret:.a}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret:a/b}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret:a\\n}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"secrets\":{\"A\":\"{{secret}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: must be a handle"},
    {WITH("\"env\":{\"A\":\"\"},\"secrets\":{\"A\":\"{{secret:a}}\"}"), ERROR_INVALID_INPUT,
     "request: /secrets/A: the variable is in env as well"},
    {WITH("\"files\":{}"), ERROR_INVALID_INPUT, "request: /files: must be an array"},
    {FILES("1"), ERROR_INVALID_INPUT, "request: /files/0: must be an object"},
    {FILES("{\"content\":\"\"}"), ERROR_INVALID_INPUT, "request: /files/0/path: missing"},
    {FILES("{\"path\":\"a\"}"), ERROR_INVALID_INPUT, "request: /files/0: must have content or ref"},
    {FILES("{\"path\":\"a\",\"content\":null,\"ref\":null}"), ERROR_INVALID_INPUT,
     "request: /files/0: must have content or ref"},
    {FILES("{\"path\":\"a\",\"content\":\"\",\"ref\":\"r\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/ref: must be absent where there is content"},
    {FILES("{\"path\":\"a\",\"ref\":\"r\",\"encoding\":\"utf-8\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/encoding: must be absent where there is ref"},
    {FILES("{\"path\":\"a\",\"ref\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/ref: must not be empty"},
    {FILES("{\"path\":\"a\",\"ref\":\"a\\u0001\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/ref: must not hold control characters"},
    {FILES("{\"path\":\"a\",\"ref\":1}"), ERROR_INVALID_INPUT,
     "request: /files/0/ref: must be a string"},
    {FILES("{\"path\":\"a\",\"content\":\"\",\"mode\":1}"), ERROR_INVALID_INPUT,
     "request: /files/0/mode: unknown member"},
    {FILES("{\"path\":\"\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not be empty"},
    {FILES("{\"path\":\"/a\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must be a relative path"},
    {FILES("{\"path\":\"..\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not have"},
    {FILES("{\"path\":\"a/../b\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not have"},
    {FILES("{\"path\":\"./a\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not have"},
    {FILES("{\"path\":\"a//b\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not have"},
    {FILES("{\"path\":\"a/\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not have"},
    {FILES("{\"path\":\"a\\tb\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: must not hold control characters"},
    {FILES("{\"path\":\"a\\u0000\",\"content\":\"\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/path: NUL character"},
    {FILES("{\"path\":\"a\",\"content\":\"\"},{\"path\":\"a\",\"content\":\"\"}"),
     ERROR_INVALID_INPUT, "request: /files/1/path: is the path of member 0"},
    {FILES("{\"path\":\"a\",\"content\":\"\"},{\"path\":\"a/b\",\"content\":\"\"}"),
     ERROR_INVALID_INPUT, "request: /files/1/path: is the path of member 0"},
    {FILES("{\"path\":\"a/b\",\"content\":\"\"},{\"path\":\"a\",\"content\":\"\"}"),
     ERROR_INVALID_INPUT, "request: /files/1/path: is the path of member 0"},
    {FILES("{\"path\":\"a\",\"content\":1}"), ERROR_INVALID_INPUT,
     "request: /files/0/content: must be a string"},
    {FILES("{\"path\":\"a\",\"content\":\"\",\"encoding\":\"hex\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/encoding: must be \"utf-8\" or \"base64\""},
    {FILES("{\"path\":\"a\",\"content\":\"\",\"encoding\":1}"), ERROR_INVALID_INPUT,
     "request: /files/0/encoding: must be a string"},
    {FILES("{\"path\":\"a\",\"content\":\"AB\",\"encoding\":\"base64\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/content: must be base64"},
    {FILES("{\"path\":\"a\",\"content\":\"A===\",\"encoding\":\"base64\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/content: must be base64"},
    {FILES("{\"path\":\"a\",\"content\":\"AB==\",\"encoding\":\"base64\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/content: must be base64"},
    {FILES("{\"path\":\"a\",\"content\":\"AA==AAAA\",\"encoding\":\"base64\"}"),
     ERROR_INVALID_INPUT, "request: /files/0/content: must be base64"},
    {FILES("{\"path\":\"a\",\"content\":\"AAA\\n\",\"encoding\":\"base64\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/content: must be base64"},
    {FILES("{\"path\":\"a\",\"content\":\"A-_A\",\"encoding\":\"base64\"}"), ERROR_INVALID_INPUT,
     "request: /files/0/content: must be base64"},
    {WITH("\"timeout_ms\":0"), ERROR_INVALID_INPUT,
     "request: /timeout_ms: must be an integer between 1 and 300000000"},
    {WITH("\"timeout_ms\":-1"), ERROR_INVALID_INPUT, "request: /timeout_ms: must be an integer"},
    {WITH("\"timeout_ms\":300000001"), ERROR_INVALID_INPUT,
     "request: /timeout_ms: must be an integer"},
    {WITH("\"timeout_ms\":1000.0"), ERROR_INVALID_INPUT,
     "request: /timeout_ms: must be an integer"},
    {WITH("\"timeout_ms\":1e3"), ERROR_INVALID_INPUT, "request: /timeout_ms: must be an integer"},
    {WITH("\"timeout_ms\":\"1000\""), ERROR_INVALID_INPUT,
     "request: /timeout_ms: must be an integer"},
    {WITH("\"timeout_ms\":true"), ERROR_INVALID_INPUT, "request: /timeout_ms: must be an integer"},
    {WITH("\"network\":1"), ERROR_INVALID_INPUT, "request: /network: must be true or false"},
    {WITH("\"network\":\"none\""), ERROR_INVALID_INPUT, "request: /network: must be true or false"},
    {WITH("\"image\":\"\""), ERROR_INVALID_INPUT, "request: /image: must not be empty"},
    {WITH("\"image\":\"a b\""), ERROR_INVALID_INPUT, "request: /image: must be printable"},
    {WITH("\"image\":\"\\u00e4\""), ERROR_INVALID_INPUT, "request: /image: must be printable"},
    {WITH("\"session\":\"\""), ERROR_INVALID_INPUT, "request: /session: must not be empty"},
    {WITH("\"session\":\"../a\""), ERROR_INVALID_INPUT, "request: /session: must be letters"},
    {WITH("\"reason\":[]"), ERROR_INVALID_INPUT, "request: /reason: must be a string"},
};

START_TEST(refuses_and_names_the_place)
{
    struct request request = {.code = NULL};
    struct error error;
    const char *input = refused[_i].input;
    ck_assert(!request_parse(REQUEST_CODE_EXECUTE, input, strlen(input), &request, &error));
    ck_assert_ptr_null(request.code);
    ck_assert_msg(strncmp(error.message, refused[_i].message, strlen(refused[_i].message)) == 0,
                  "\"%s\" instead of \"%s\"", error.message, refused[_i].message);
    ck_assert_str_eq(error_code_name(error.code), error_code_name(refused[_i].code));
}
END_TEST

START_TEST(hints_name_what_there_is)
{
    struct request request;
    struct error error;
    const char *unknown_language = "{\"language\":\"cobol\",\"code\":\"x\"}";
    ck_assert(!request_parse(REQUEST_CODE_EXECUTE, unknown_language, strlen(unknown_language),
                             &request, &error));
    ck_assert_str_eq(error.hint, "use one of: python, javascript, typescript, sh, bash, zsh, ruby, "
                                 "php, perl, lua, r");
    const char *unknown_member = WITH("\"timeout\":1");
    ck_assert(!request_parse(REQUEST_CODE_EXECUTE, unknown_member, strlen(unknown_member), &request,
                             &error));
    char expected[sizeof(error.hint)] = "the members are: ";
    size_t count;
    const struct request_field *fields = request_fields(&count);
    for (size_t i = 0; i < count; i++) {
        strcat(expected, i > 0 ? ", " : "");
        strcat(expected, fields[i].name);
    }
    ck_assert_str_eq(error.hint, expected);
}
END_TEST

static struct request parse(enum request_shape shape, const char *input)
{
    struct request request;
    struct error error;
    bool parsed = request_parse(shape, input, strlen(input), &request, &error);
    ck_assert_msg(parsed, "%s", error.message);
    return request;
}

START_TEST(reads_everything)
{
    CLEANUP(request_clear)
    struct request request = parse(
        REQUEST_CODE_EXECUTE,
        "{\"reason\":\"why\",\"session\":\"s-1\",\"image\":\"python:3.11-slim\",\"network\":true,"
        "\"timeout_ms\":300000000,\"files\":[{\"path\":\"d/a.bin\",\"content\":\"AAEC/w==\","
        "\"encoding\":\"base64\"},{\"path\":\"d/b\",\"content\":\"\\u00e4\",\"encoding\":null}],"
        "\"secrets\":{\"Z\":\"{{secret:zed}}\",\"K\":\"{{secret:my-api-key}}\"},"
        "\"env\":{\"B\":\"2=3\",\"A1\":\"\",\"A\":\"1\"},\"args\":[\"-x\",\"\"],"
        "\"stdin\":\"in\",\"code\":\"print(1)\",\"language\":\"python\"}");
    ck_assert_str_eq(request.language->name, "python");
    ck_assert_str_eq(request.code, "print(1)");
    ck_assert_uint_eq(request.code_length, 8);
    ck_assert_str_eq(request.stdin_text, "in");
    ck_assert_uint_eq(request.stdin_length, 2);
    ck_assert_str_eq(request.args[0], "-x");
    ck_assert_str_eq(request.args[1], "");
    ck_assert_ptr_null(request.args[2]);
    ck_assert_str_eq(request.environment[0], "A=1");
    ck_assert_str_eq(request.environment[1], "A1=");
    ck_assert_str_eq(request.environment[2], "B=2=3");
    ck_assert_ptr_null(request.environment[3]);
    ck_assert_uint_eq(request.secret_count, 2);
    ck_assert_str_eq(request.secrets[0].variable, "K");
    ck_assert_str_eq(request.secrets[0].name, "my-api-key");
    ck_assert_str_eq(request.secrets[1].variable, "Z");
    ck_assert_uint_eq(request.file_count, 2);
    ck_assert_str_eq(request.files[0].path, "d/a.bin");
    ck_assert_uint_eq(request.files[0].length, 4);
    ck_assert_mem_eq(request.files[0].content, "\0\1\2\xff", 4);
    ck_assert_uint_eq(request.files[1].length, 2);
    ck_assert_uint_eq(request.timeout_ms, 300000000);
    ck_assert(request.network);
    ck_assert_str_eq(request.image, "python:3.11-slim");
    ck_assert_str_eq(request.session, "s-1");
    ck_assert_str_eq(request.reason, "why");
    ck_assert_uint_eq(json_array_size(request.notes), 0);
}
END_TEST

START_TEST(takes_null_as_absent)
{
    CLEANUP(request_clear)
    struct request request =
        parse(REQUEST_CODE_EXECUTE,
              WITH("\"stdin\":null,\"args\":null,\"env\":null,\"secrets\":null,\"files\":null,"
                   "\"timeout_ms\":null,\"network\":null,\"image\":null,\"session\":null,"
                   "\"reason\":null,\"runtime\":null"));
    ck_assert_ptr_null(request.stdin_text);
    ck_assert_ptr_nonnull(request.args);
    ck_assert_ptr_null(request.args[0]);
    ck_assert_ptr_nonnull(request.environment);
    ck_assert_ptr_null(request.environment[0]);
    ck_assert_uint_eq(request.secret_count, 0);
    ck_assert_uint_eq(request.file_count, 0);
    ck_assert_uint_eq(request.timeout_ms, 0);
    ck_assert(!request.network);
    ck_assert_ptr_null(request.image);
    ck_assert_ptr_null(request.session);
    ck_assert_ptr_null(request.reason);
}
END_TEST

/* What was repaired or read differently, and the note that says so. */
static const struct {
    enum request_shape shape;
    const char *input;
    const char *code;
    const char *note; /* part of the first; NULL: there is none */
} noted[] = {
    {REQUEST_CODE_EXECUTE, "{\"language\":\"py\",\"code\":\"x\"}", "x",
     "language \"py\" was read as \"python\""},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"Python\",\"code\":\"x\"}", "x", "was read as"},
    {REQUEST_CODE_EXECUTE, "{\"runtime\":\"python\",\"code\":\"x\"}", "x",
     "\"runtime\" was read as \"language\""},
    {REQUEST_CODE_EXECUTE, "{\"language\":null,\"runtime\":\"python\",\"code\":\"x\"}", "x",
     "\"runtime\" was read as \"language\""},
    {REQUEST_SANDBOX_EXEC, "{\"runtime\":\"python3\",\"code\":\"x\"}", "x", NULL},
    {REQUEST_SANDBOX_EXEC, "{\"language\":\"node\",\"code\":\"x\"}", "x", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"\\ufeffx\"}", "x",
     "byte order mark"},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"```python\\nx\\ny\\n```\"}",
     "x\ny\n", "Markdown fence"},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"\\n ```\\nx\\n```  \\n\"}", "x\n",
     "Markdown fence"},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"````py\\n```\\nx\\n````\"}",
     "```\nx\n", "Markdown fence"},
    /* not one whole block */
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"Here:\\n```\\nx\\n```\"}",
     "Here:\n```\nx\n```", NULL},
    {REQUEST_CODE_EXECUTE,
     "{\"language\":\"python\",\"code\":\"```\\nx\\n```\\ny\\n```\\nz\\n```\"}",
     "```\nx\n```\ny\n```\nz\n```", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"```x```\"}", "```x```", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"```\\nx\"}", "```\nx", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"```\"}", "```", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"```\\nx```\"}", "```\nx```", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"python\",\"code\":\"a\\r\\nb\"}", "a\r\nb", NULL},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"bash\",\"code\":\"a\\r\\nb\"}", "a\r\nb", "CRLF"},
    {REQUEST_CODE_EXECUTE, "{\"language\":\"sh\",\"code\":\"echo {{secret:a}}\"}",
     "echo {{secret:a}}", "in code is not replaced"},
    {REQUEST_CODE_EXECUTE, WITH("\"args\":[\"-k\",\"{{secret:a}}\",\"{{secret:b}}\"]"), "x",
     "in args is not replaced"},
    {REQUEST_CODE_EXECUTE, WITH("\"env\":{\"K\":\"{{secret:a}}\"}"), "x", "in env is not replaced"},
    {REQUEST_CODE_EXECUTE, WITH("\"stdin\":\"{{secret:a}}\""), "x", "in stdin is not replaced"},
};

START_TEST(repairs_and_notes)
{
    CLEANUP(request_clear) struct request request = parse(noted[_i].shape, noted[_i].input);
    ck_assert_str_eq(request.code, noted[_i].code);
    ck_assert_uint_eq(request.code_length, strlen(noted[_i].code));
    ck_assert_uint_eq(json_array_size(request.notes), noted[_i].note == NULL ? 0 : 1);
    if (noted[_i].note != NULL) {
        const char *note = json_string_value(json_array_get(request.notes, 0));
        ck_assert_msg(note != NULL && strstr(note, noted[_i].note) != NULL, "%s", note);
    }
}
END_TEST

/* A value of that many bytes is taken, of one more refused. */
static const struct {
    const char *before;
    const char *after;
    size_t limit;
    const char *pointer;
} lengths[] = {
    {"{\"language\":\"python\",\"code\":\"", "\"}", REQUEST_CODE_LIMIT, "/code"},
    {"{\"language\":\"python\",\"code\":\"x\",\"stdin\":\"", "\"}", REQUEST_STDIN_LIMIT, "/stdin"},
    {"{\"language\":\"python\",\"code\":\"x\",\"args\":[\"", "\"]}", REQUEST_STRING_LIMIT,
     "/args/0"},
    {"{\"language\":\"python\",\"code\":\"x\",\"env\":{\"A\":\"", "\"}}", REQUEST_STRING_LIMIT,
     "/env/A"},
    {"{\"language\":\"python\",\"code\":\"x\",\"env\":{\"", "\":\"\"}}", 256, "/env/aaa"},
    {"{\"language\":\"python\",\"code\":\"x\",\"reason\":\"", "\"}", REQUEST_STRING_LIMIT,
     "/reason"},
    {"{\"language\":\"python\",\"code\":\"x\",\"session\":\"", "\"}", REQUEST_SESSION_LIMIT,
     "/session"},
    {"{\"language\":\"python\",\"code\":\"x\",\"image\":\"", "\"}", REQUEST_IMAGE_LIMIT, "/image"},
    {"{\"language\":\"python\",\"code\":\"x\",\"secrets\":{\"A\":\"{{secret:", "}}\"}}",
     SECRET_NAME_LIMIT, "/secrets/A"},
    {"{\"language\":\"python\",\"code\":\"x\",\"files\":[{\"content\":\"\",\"path\":\"", "\"}]}",
     REQUEST_PATH_LIMIT, "/files/0/path"},
};

START_TEST(holds_byte_limits)
{
    struct request request;
    struct error error;
    size_t before = strlen(lengths[_i].before);
    size_t after = strlen(lengths[_i].after);
    size_t limit = lengths[_i].limit;
    CLEANUP_FREE char *text = malloc(before + limit + after + 2);
    memcpy(text, lengths[_i].before, before);
    memset(text + before, 'a', limit + 1);
    memcpy(text + before + limit, lengths[_i].after, after);
    bool parsed =
        request_parse(REQUEST_CODE_EXECUTE, text, before + limit + after, &request, &error);
    ck_assert_msg(parsed, "%s", error.message);
    request_clear(&request);
    memset(text + before, 'a', limit + 1);
    memcpy(text + before + limit + 1, lengths[_i].after, after);
    ck_assert(
        !request_parse(REQUEST_CODE_EXECUTE, text, before + limit + 1 + after, &request, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_INPUT);
    ck_assert_msg(strstr(error.message, lengths[_i].pointer) != NULL, "%s", error.message);
}
END_TEST

static const struct {
    const char *member;
    const char *open, *close;
    const char *item; /* %d: its number */
    int limit;
} counts[] = {
    {"args", "[", "]", "\"%d\"", REQUEST_ARGS_LIMIT},
    {"env", "{", "}", "\"A%d\":\"\"", REQUEST_ENVIRONMENT_LIMIT},
    {"secrets", "{", "}", "\"A%d\":\"{{secret:a}}\"", REQUEST_SECRETS_LIMIT},
    {"files", "[", "]", "{\"path\":\"%d\",\"content\":\"\"}", REQUEST_FILES_LIMIT},
};

static bool parse_count(size_t row, int count, struct error *error)
{
    char text[16384];
    struct request request;
    int used = sprintf(text, "{\"language\":\"python\",\"code\":\"x\",\"%s\":%s",
                       counts[row].member, counts[row].open);
    for (int i = 0; i < count; i++) {
        const char *at = strstr(counts[row].item, "%d");
        used += sprintf(text + used, "%s%.*s%d%s", i == 0 ? "" : ",", (int)(at - counts[row].item),
                        counts[row].item, i, at + 2);
    }
    used += sprintf(text + used, "%s}", counts[row].close);
    bool parsed = request_parse(REQUEST_CODE_EXECUTE, text, (size_t)used, &request, error);
    if (parsed)
        request_clear(&request);
    return parsed;
}

START_TEST(holds_member_limits)
{
    struct error error;
    size_t row = (size_t)_i;
    ck_assert(parse_count(row, counts[row].limit, &error));
    ck_assert(!parse_count(row, counts[row].limit + 1, &error));
    ck_assert_msg(strstr(error.message, counts[row].member) != NULL &&
                      strstr(error.message, "must have at most") != NULL,
                  "%s", error.message);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("refusals"), tcase_create("readings"), tcase_create("limits")};
    tcase_add_loop_test(cases[0], refuses_and_names_the_place, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], hints_name_what_there_is);
    tcase_add_test(cases[1], reads_everything);
    tcase_add_test(cases[1], takes_null_as_absent);
    tcase_add_loop_test(cases[1], repairs_and_notes, 0, COUNT_OF(noted));
    tcase_add_loop_test(cases[2], holds_byte_limits, 0, COUNT_OF(lengths));
    tcase_add_loop_test(cases[2], holds_member_limits, 0, COUNT_OF(counts));
    return run_suite("request", cases, COUNT_OF(cases));
}
