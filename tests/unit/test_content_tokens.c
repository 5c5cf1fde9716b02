/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules on words: what the scanner makes of each language's comments, strings and odd corners; that
 * nothing is hidden by what only looks like one of them; which evasions are honestly not seen; and
 * of random text, that it ends and tells places that are in it. Single-threaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "cleanup.h"
#include "content.h"
#include "content_scan.h"
#include "random.h"
#include "tap_suite.h"

struct row {
    char text[8192];
    size_t length;
    size_t count;
};

static void add_to_row(void *user, const struct content_token *token)
{
    struct row *row = user;
    row->count++;
    if (row->length + token->length + 2 > sizeof(row->text))
        return;
    if (row->length > 0)
        row->text[row->length++] = ' ';
    memcpy(row->text + row->length, token->text, token->length);
    row->length += token->length;
    row->text[row->length] = '\0';
}

static const struct {
    const char *language;
    const char *text;
    const char *tokens; /* with a space between */
} rows[] = {
    {"javascript", "'\\xzz\\u0000'", "\"xzzu0000\""},
    {"javascript", "'\\x6C\\x4a\\x5g'", "\"lJ\x05g\""},
    {"javascript", "'\\u00e4\\xE4'", "\"u00e4xE4\""},
    {"php", "<?php $// c", "$"},
    {"perl", "q", "q"},
    {"perl", "q #a", "q"},
    {"perl", "q#a#b", "a b"},
    {"perl", "q 9; s x", "q 9 ; s x"},
    {"ruby", "x = %9; x = %z; x = % b", "x = % 9 ; x = % z ; x = % b"},
    {"ruby", "x = %", "x = %"},
    {"r", "r\"x\"", "r \"x\""},
    {"sh", "cat <<'E", "cat < < E"},
    {"sh", "cat <<'E\nF'\nE", "cat < < E\nF E"},
    {"sh", "cat <<E1 a\nE1x\nE1 \nE1\nb", "cat < < E1 a E1x E1 E1 b"},
    {"php", "<?php <<< E\nit's\nE\na", "< < < E it ' s E a"},
    {"ruby", "x <<1", "x < < 1"},
    {"javascript", "a.b(1)//c\n$d/*e*/f", "a . b ( 1 ) $d f"},
    {"javascript", "x='a\\'b'+\"c\"", "x = \"a'b\" + \"c\""},
    {"javascript", "require('child' + '_process')", "require ( \"child\" + \"_process\" )"},
    {"javascript", "'\\x65v\\u0061l' \\u0065val ev\\u{61}l", "\"eval\" eval eval"},
    {"javascript", "`a${eval(`b${c}`)}d`", "\"a\" eval ( \"b\" c \"\" ) \"d\""},
    {"javascript", "`${ {a:{}} }`+x", "\"\" { a : { } } \"\" + x"},
    {"javascript", "a / b; eval(1) / 2", "a / b ; eval ( 1 ) / 2"},
    {"javascript", "x = /it's/; eval(1)", "x = it ' s ; eval ( 1 )"},
    {"javascript", "return /[/']/g, eval", "return [ / ' ] g , eval"},
    {"javascript", "x = 'not closed\neval(1)", "x = \"not closed\" eval ( 1 )"},
    {"javascript", "<!-- eval", "< ! - - eval"},
    {"typescript", "let a: string = `b`", "let a : string = \"b\""},
    {"sh", "curl http://a|sh # eval", "curl http://a | sh"},
    {"sh", "c'ur'l c\\url \"cu\"rl $'\\x63url'", "curl curl curl curl"},
    {"sh", "echo 'a b' \"c d\"", "echo a b c d"},
    {"sh", "echo \"a $(curl \"b\") c\" d", "echo a  curl b  c d"},
    {"sh", "echo \"a `curl b` c\" `wget`", "echo a  curl b  c ` wget `"},
    {"sh", "a#b ${c#d} $# #e", "a#b ${c#d} $#"},
    {"sh", "cu\\\nrl x", "curl x"},
    {"sh", "cat <<E\nit's $(curl)\nE\neval", "cat < < E it ' s $ ( curl ) E eval"},
    {"bash", "cat <<-'E F'; x\n\teval it's\n\tE F\ny", "cat < < - ' E F ; x eval it ' s E F y"},
    {"bash", "cat <<A <<\\B\na\nA\nb\nB\nc", "cat < < A < < \\ B a A b B c"},
    {"bash", "a <<<b", "a < < < b"},
    {"zsh", "eval 'a'\"b\"c;exec", "eval abc ; exec"},
    {"ruby", "a # b\n'c' \"d#{e('f')}g\"", "a \"c\" \"d\" e ( \"f\" ) \"g\""},
    {"ruby", "=begin\neval\n=end\nsystem", "system"},
    {"ruby", "x = %q(it's); eval", "x = it ' s ; eval"},
    {"ruby", "x = %w[a b]; y = %(c); a % (b)", "x = a b ; y = c ; a % ( b )"},
    {"ruby", "x = <<~E\n it's eval\n E\nsystem", "x = < < ~ E it ' s eval E system"},
    {"ruby", "a << b", "a < < b"},
    {"ruby", "split /it's/; eval", "split it ' s ; eval"},
    {"php", "<b>it's</b><?php eval(1); // x ?> eval <?= f(2) # y\n?>",
     "< b > it ' s < / b > eval ( 1 ) ; ? > eval f ( 2 ) ? >"},
    {"php", "<?php #[A('b')]\n/* c */ $d->e(\"f\")", "# [ A ( \"b\" ) ] $ d - > e ( \"f\" )"},
    {"php", "<?php $a = <<<\"E\"\nit's\nE;\neval", "$ a = < < < \" E it ' s E ; eval"},
    {"perl", "system('a'); # b\n$#c; eval", "system ( \"a\" ) ; $ # c ; eval"},
    {"perl", "q(it's) . qw{a b} . s/it's/x/g; eval", "it ' s . a b . it ' s x g ; eval"},
    {"perl", "s{a}{it's}; tr/'/x/; $y{'q'} = m'x'; y => 1",
     "a it ' s ; ' x ; $ y { \"q\" } = x ; y = > 1"},
    {"perl", "$h{s}; %q; &m; ->y('b')", "$ h { s } ; % q ; & m ; - > y ( \"b\" )"},
    {"perl", "=pod\nit's eval\n=cut\nsystem", "= pod it ' s eval = cut system"},
    {"lua", "os.execute('a') --b\n--[[c\n]]d--[==[e]]]==]f", "os . execute ( \"a\" ) d f"},
    {"lua", "x=[[a b]] y=[=[\nit's]=] t[1]", "x = \"a b\" a b y = \"\nit's\" it ' s t [ 1 ]"},
    {"lua", "x = 'not closed\nos", "x = \"not closed\" os"},
    {"r", "`system`(\"a\") # b\nSys.getenv('c')", "system ( \"a\" ) Sys.getenv ( \"c\" )"},
    {"r", "r\"--(it's)--\" + R'[a]' + r(1)", "it ' s + a + r ( 1 )"},
};

START_TEST(tells_words_from_comments_and_strings)
{
    struct row row = {.text = ""};
    uint32_t line = 0;
    uint32_t column = 0;
    const struct content_syntax *syntax = content_syntax_find(rows[_i].language);
    ck_assert_ptr_nonnull(syntax);
    (void)content_scan(syntax, rows[_i].text, strlen(rows[_i].text), add_to_row, &row, &line,
                       &column);
    ck_assert_str_eq(row.text, rows[_i].tokens);
}
END_TEST

static const struct {
    const char *language;
    const char *text;
    uint32_t line; /* 0: all is closed */
    uint32_t column;
} ends[] = {
    {"javascript", "a\n /* b", 2, 2},
    {"javascript", "`a", 1, 2},
    {"javascript", "`${a", 1, 4},
    {"javascript", "'a", 1, 2},
    {"sh", "a 'b", 1, 3},
    {"sh", "echo \"$(a", 1, 9},
    {"ruby", "x\n\"a", 2, 2},
    {"ruby", "%q(a", 1, 3},
    {"perl", "s/a/b", 1, 4},
    {"lua", "[[a", 1, 3},
    {"lua", "--[[a", 1, 5},
    {"r", "r\"(a", 1, 4},
    {"javascript", "'a'", 0, 0},
    {"sh", "a 'b'", 0, 0},
    {"perl", "s/a/b/", 0, 0},
    {"perl", "s{a}", 0, 0},
};

START_TEST(what_does_not_end_is_told)
{
    struct row row = {.text = ""};
    uint32_t line = 0;
    uint32_t column = 0;
    bool whole = content_scan(content_syntax_find(ends[_i].language), ends[_i].text,
                              strlen(ends[_i].text), add_to_row, &row, &line, &column);
    ck_assert_int_eq(whole, ends[_i].line == 0);
    ck_assert_uint_eq(line, ends[_i].line);
    ck_assert_uint_eq(column, ends[_i].column);
}
END_TEST

START_TEST(nesting_has_an_end)
{
    struct row row = {.text = ""};
    char text[400];
    uint32_t line;
    uint32_t column;
    for (size_t i = 0; i + 3 <= sizeof(text); i += 3)
        memcpy(text + i, "`${", 3);
    ck_assert(!content_scan(content_syntax_find("javascript"), text, 399, add_to_row, &row, &line,
                            &column));
    ck_assert_uint_lt(row.count, 100);
}
END_TEST

/* Marks too long to be kept, and strings too long to be one token. */
START_TEST(what_is_long_is_read_all_the_same)
{
    static const struct {
        const char *language;
        const char *before;
        char filler;
        const char *behind;
    } texts[] = {{"lua", "[", '=', "["},
                 {"lua", "[[", 'a', "]]"},
                 {"r", "r\"", '-', "(a)\""},
                 {"javascript", "'", 'a', "'"}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct row row = {.text = ""};
        char filler[401];
        char text[512];
        uint32_t line;
        uint32_t column;
        memset(filler, texts[i].filler, 400);
        filler[400] = '\0';
        (void)snprintf(text, sizeof(text), "%s%s%s", texts[i].before, filler, texts[i].behind);
        ck_assert(content_scan(content_syntax_find(texts[i].language), text, strlen(text),
                               add_to_row, &row, &line, &column));
        ck_assert_uint_ge(row.count, 1);
    }
}
END_TEST

/* Languages of the schema but Python have a syntax, and no other. */
START_TEST(each_language_has_a_syntax)
{
    static const char *const names[] = {"javascript", "typescript", "sh",   "bash", "zsh",
                                        "ruby",       "php",        "perl", "lua",  "r"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ck_assert_str_eq(content_syntax_find(names[i])->language, names[i]);
    ck_assert_ptr_null(content_syntax_find("python"));
}
END_TEST

#define RULE(name, sequence, more) \
    "{\"name\":\"" name "\",\"message\":\"m\",\"sequence\":[" sequence "]" more "}"

static const struct {
    const char *language;
    const char *rules;
    const char *code; /* of JSON */
    const char *files;
    const char *found; /* "RULE LINE:COLUMN", FILE before it, each with a space */
} searches[] = {
    {"javascript", RULE("cp", "\"require\",\"(\",\"\\\"child_process\\\"\"", ""),
     "x = require ('child_process')\\nrequire('fs')", "", "cp 1:5 "},
    {"javascript", RULE("cp", "\"process.env\"", ""), "a\\n  process . env.HOME; process.exit", "",
     "cp 2:3 "},
    {"javascript", RULE("e", "\"eval\"", ""), "// eval\\n'eval'; evaluate(); medieval", "", ""},
    {"javascript", RULE("e", "\"eval\"", ",\"anywhere\":true"), "// eval\\n'eval'", "",
     "e 1:4 e 2:2 "},
    {"javascript", RULE("a", "\"x\"", "") "," RULE("b", "\"y\"", ""), "y x", "", "b 1:1 a 1:3 "},
    {"javascript", RULE("d", "\"$a\"", ""), "$a", "", "d 1:1 "},
    {"sh", RULE("net", "\"curl\"", ""), "/usr/bin/curl x; cur\\\"\\\"l; mycurl; curly", "",
     "net 1:1 net 1:18 "},
    {"sh", RULE("rm", "\"rm\",\"-rf\"", ""), "rm -rf /; rm -r -f /", "", "rm 1:1 "},
    {"sh", RULE("tcp", "\"/dev/tcp\"", ""), "cat /dev/tcp", "", "tcp 1:5 "},
    {"ruby", RULE("s", "\"system\"", ""), "1",
     ",\"files\":[{\"path\":\"a.txt\",\"content\":\"system\"},{\"path\":\"b.rb\",\"content\":\"\\n"
     "system\"}]",
     "2 s 2:1 "},
    /* Honestly not seen. */
    {"sh", RULE("net", "\"curl\"", ""), "c=cu; ${c}rl; sh -c 'curl x'", "", ""},
    {"javascript", RULE("e", "\"eval\"", ""), "globalThis['ev' + 'al']", "", ""},
    {"ruby", RULE("s", "\"system\"", ""), "send('sys' + 'tem')", "", ""},
    {"javascript", RULE("e", "\"eval\"", ""), "if (a) /'/.test(b); eval(x) //'", "", ""},
};

static void cleanup_call(struct call **call)
{
    call_clear(*call);
    free(*call);
}

static struct call *new_call(const char *language, const char *terms, const char *rules,
                             const char *code, const char *files)
{
    char policy[1024];
    char input[1024];
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    (void)snprintf(policy, sizeof(policy),
                   "{\"content_checks\":{\"languages\":{\"%s\":{%s,\"tokens\":[%s]}}}}", language,
                   terms, rules);
    (void)snprintf(input, sizeof(input), "{\"language\":\"%s\",\"code\":\"%s\"%s}", language, code,
                   files);
    call->configuration.mode = SANDBOX_MODE_PROCESS;
    call->configuration.policy = policy_load_text("test", policy, strlen(policy), &error);
    ck_assert_msg(call->configuration.policy != NULL, "%s", error.message);
    call->language = policy_find_language(call->configuration.policy, language);
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, input, strlen(input), &call->request, &error);
    ck_assert_msg(call->parsed, "%s", error.message);
    return call;
}

START_TEST(finds_sequences_of_words)
{
    struct error error;
    char found[256] = "";
    size_t length = 0;
    CLEANUP(cleanup_call)
    struct call *call = new_call(searches[_i].language, "\"action\":\"warn\"", searches[_i].rules,
                                 searches[_i].code, searches[_i].files);
    ck_assert(!content_needs_process(call));
    ck_assert(content_check(call, &error));
    for (size_t i = 0; i < call->content.count; i++) {
        const struct content_finding *finding = &call->content.list[i];
        if (finding->file > 0)
            length +=
                (size_t)snprintf(found + length, sizeof(found) - length, "%u ", finding->file);
        length += (size_t)snprintf(found + length, sizeof(found) - length, "%s %u:%u ",
                                   finding->rule, finding->line, finding->column);
    }
    ck_assert_str_eq(found, searches[_i].found);
}
END_TEST

/* Which of the request's files are programs is told by the ending; without one, none is. */
START_TEST(without_an_ending_only_the_program_is_read)
{
    static const char policy[] =
        "{\"languages\":{\"ruby\":{\"file\":\"%s\"}},\"content_checks\":{\"languages\":{\"ruby\":{"
        "\"action\":\"warn\",\"tokens\":[" RULE("s", "\"system\"", "") "]}}}}";
    static const char *const names[] = {"main", "main.rb"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct error error;
        char text[512];
        CLEANUP(cleanup_call)
        struct call *call = new_call("ruby", "\"action\":\"warn\"", "", "system",
                                     ",\"files\":[{\"path\":\"a.rb\",\"content\":\"system\"}]");
        policy_unref(call->configuration.policy);
        (void)snprintf(text, sizeof(text), policy, names[i]);
        call->configuration.policy = policy_load_text("test", text, strlen(text), &error);
        ck_assert_msg(call->configuration.policy != NULL, "%s", error.message);
        call->language = policy_find_language(call->configuration.policy, "ruby");
        ck_assert(content_check(call, &error));
        ck_assert_uint_eq(call->content.count, i + 1);
    }
}
END_TEST

START_TEST(refuses_and_tells_what_does_not_end)
{
    static const char rule[] = RULE("net", "\"curl\"", "");
    struct error error;
    CLEANUP(cleanup_call)
    struct call *refused = new_call("sh", "\"action\":\"refuse\"", rule, "a\\ncurl 'b", "");
    ck_assert(!content_check(refused, &error));
    ck_assert_str_eq(error.message, "content refused: line 2, column 1: m (net)");
    CLEANUP(cleanup_call)
    struct call *required =
        new_call("sh", "\"action\":\"refuse\",\"required\":true", rule, "a 'b", "");
    ck_assert(!content_check(required, &error));
    ck_assert_str_eq(error.message, "content refused: line 1, column 3: what begins here does not "
                                    "end (parse_error)");
    CLEANUP(cleanup_call)
    struct call *warned = new_call("sh", "\"action\":\"refuse\"", rule, "a 'b", "");
    ck_assert(content_check(warned, &error));
    ck_assert_str_eq(warned->content.list[0].rule, "parse_error");
}
END_TEST

/* Text of a language's own signs, so that its corners meet. */
static void fill_random(uint64_t *state, char *text, size_t length)
{
    static const char *const pieces[] = {
        "'",        "\"",   "`",    "\\",      "${",       "#{",       "}",        "$(",
        ")",        "\n",   " ",    "//",      "/*",       "*/",       "#",        "--",
        "[[",       "]]",   "[==[", "]==]",    "<<E",      "\nE\n",    "q(",       "s/",
        "/",        "%q(",  "r\"(", ")\"",     "<?php",    "?>",       "=begin\n", "\n=end",
        "\n=cut\n", "word", "eval", "\\u0065", "<<<\"E\"", "\xC3\xA4", "=",        "{"};
    for (size_t at = 0; at < length;) {
        const char *piece = pieces[random_below(state, COUNT_OF(pieces))];
        size_t size = strlen(piece);
        if (size > length - at)
            size = length - at;
        memcpy(text + at, piece, size);
        at += size;
    }
}

struct order {
    uint32_t lines;
    size_t count;
    bool wrong;
};

static void check_place(void *user, const struct content_token *token)
{
    struct order *order = user;
    order->count++;
    order->wrong |= token->line < 1 || token->line > order->lines || token->column < 1 ||
                    token->length < 1 || token->length > CONTENT_TOKEN_LIMIT;
}

START_TEST(random_text_ends_and_its_places_are_in_it)
{
    static const char *const names[] = {"javascript", "sh", "ruby", "php", "perl", "lua", "r"};
    const struct content_syntax *syntax = content_syntax_find(names[_i]);
    uint64_t state = 0x9E3779B97F4A7C15;
    for (int round = 0; round < 20000; round++) {
        char text[257];
        size_t length = random_below(&state, 256);
        uint32_t line = 1;
        uint32_t column;
        struct order order = {.lines = 1};
        fill_random(&state, text, length);
        if (length > 0 && round % 8 == 0)
            text[random_below(&state, length)] = '\0';
        for (size_t i = 0; i < length; i++)
            order.lines += text[i] == '\n';
        CLEANUP_FREE char *exact = malloc(length + 1); /* a read beyond it is the sanitizer's */
        memcpy(exact, text, length);
        (void)content_scan(syntax, exact, length, check_place, &order, &line, &column);
        ck_assert(!order.wrong && line <= order.lines && order.count <= 2 * length + 2);
    }
}
END_TEST

static void count_token(void *user, const struct content_token *token)
{
    (void)token;
    ++*(size_t *)user;
}

/* What would take the square of its length takes minutes. */
START_TEST(a_megabyte_takes_no_longer_than_its_length)
{
    static const char *const pieces[] = {
        "[/",   "=/",   "<<E ", "q  ", "r\"--", "[===", "`${", "/*",
        "\"$(", "\\u{", "%q(",  "--[", "s(",    "?>",   "#\n", "'\n'"};
    static const char *const names[] = {"javascript", "sh", "ruby", "php", "perl", "lua", "r"};
    size_t length = 1 << 20;
    CLEANUP_FREE char *text = malloc(length);
    size_t size = strlen(pieces[_i]);
    for (size_t i = 0; i < length; i++)
        text[i] = pieces[_i][i % size];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t count = 0;
        uint32_t line;
        uint32_t column;
        (void)content_scan(content_syntax_find(names[i]), text, length, count_token, &count, &line,
                           &column);
        ck_assert_uint_le(count, 3 * length);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("scanner"), tcase_create("rules"), tcase_create("any text")};
    tcase_add_loop_test(cases[0], tells_words_from_comments_and_strings, 0, COUNT_OF(rows));
    tcase_add_loop_test(cases[0], what_does_not_end_is_told, 0, COUNT_OF(ends));
    tcase_add_test(cases[0], nesting_has_an_end);
    tcase_add_test(cases[0], what_is_long_is_read_all_the_same);
    tcase_add_test(cases[0], each_language_has_a_syntax);
    tcase_add_loop_test(cases[1], finds_sequences_of_words, 0, COUNT_OF(searches));
    tcase_add_test(cases[1], without_an_ending_only_the_program_is_read);
    tcase_add_test(cases[1], refuses_and_tells_what_does_not_end);
    tcase_set_timeout(cases[2], 60);
    tcase_add_loop_test(cases[2], random_text_ends_and_its_places_are_in_it, 0, 7);
    tcase_add_loop_test(cases[2], a_megabyte_takes_no_longer_than_its_length, 0, 16);
    return run_suite("content tokens", cases, COUNT_OF(cases));
}
