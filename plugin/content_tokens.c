/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules on words: sequences of them, found in the row that content_scan() makes of a program. Runs
 * in the gateway, on the thread inside tool_invoke(); time is linear in the text for each rule.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "content_checkers.h"
#include "content_scan.h"

struct piece {
    char text[CONTENT_TOKEN_LIMIT];
    size_t length;
    uint32_t line;
    uint32_t column;
};

/* A rule's words as the scanner would give them. */
struct pattern {
    struct piece pieces[CONTENT_PATTERN_LIMIT];
    size_t count;
};

struct search {
    struct content_findings *findings;
    const struct content_rules *rules;
    const struct content_syntax *syntax;
    struct pattern *patterns; /* as rules->tokens */
    struct piece last[CONTENT_PATTERN_LIMIT];
    size_t seen; /* tokens so far; the last one is last[(seen - 1) % CONTENT_PATTERN_LIMIT] */
    bool anywhere;
    uint32_t file;
    bool failed; /* no memory */
};

static void copy_token(const struct content_token *token, struct piece *ret)
{
    ret->length = token->length;
    ret->line = token->line;
    ret->column = token->column;
    memcpy(ret->text, token->text, token->length);
}

/* As many as the policy's parser has counted. */
static void add_piece(void *user, const struct content_token *token)
{
    struct pattern *pattern = user;
    copy_token(token, &pattern->pieces[pattern->count++]);
}

static bool same(const struct piece *piece, const char *text, size_t length)
{
    return piece->length == length && memcmp(piece->text, text, length) == 0;
}

/* In shells a command is also the file that it names. */
static bool fits(const struct search *search, const struct piece *wanted, const struct piece *token)
{
    if (same(wanted, token->text, token->length))
        return true;
    if (!search->syntax->is_shell)
        return false;
    const char *slash = memrchr(token->text, '/', token->length);
    return slash != NULL &&
           same(wanted, slash + 1, token->length - (size_t)(slash + 1 - token->text));
}

static const struct piece *seen_before(const struct search *search, size_t back)
{
    return &search->last[(search->seen - 1 - back) % CONTENT_PATTERN_LIMIT];
}

static bool matches(const struct search *search, const struct pattern *pattern)
{
    if (pattern->count > search->seen)
        return false;
    for (size_t i = 0; i < pattern->count; i++)
        if (!fits(search, &pattern->pieces[pattern->count - 1 - i], seen_before(search, i)))
            return false;
    return true;
}

static void take_token(void *user, const struct content_token *token)
{
    struct search *search = user;
    copy_token(token, &search->last[search->seen % CONTENT_PATTERN_LIMIT]);
    search->seen++;
    for (size_t i = 0; i < search->rules->token_count; i++) {
        const struct content_token_rule *rule = &search->rules->tokens[i];
        const struct pattern *pattern = &search->patterns[i];
        if (rule->anywhere != search->anywhere || !matches(search, pattern))
            continue;
        const struct piece *first = seen_before(search, pattern->count - 1);
        struct content_finding finding = {
            .file = search->file, .line = first->line, .column = first->column};
        content_describe(&finding, rule->name, "%s", rule->message);
        search->failed |= !content_add(search->findings, &finding);
    }
}

static bool search_text(struct search *search, const void *text, size_t length,
                        struct content_answer *answer)
{
    uint32_t *line = &answer->why.line;
    uint32_t *column = &answer->why.column;
    search->anywhere = true;
    search->seen = 0;
    content_scan_plain(search->syntax, text, length, take_token, search);
    search->anywhere = false;
    search->seen = 0;
    if (content_scan(search->syntax, text, length, take_token, search, line, column))
        return true;
    answer->verdict = CONTENT_UNREADABLE;
    answer->why.file = search->file;
    content_describe(&answer->why, "parse_error", "what begins here does not end");
    return false;
}

/* The program, and those of the request's files that are of its kind. */
static struct content_answer search_all(struct call *call, struct search *search)
{
    struct content_answer answer = {.verdict = CONTENT_READ};
    const struct request *request = &call->request;
    const char *extension = strrchr(call->language->file, '.');
    bool whole = search_text(search, request->code, request->code_length, &answer);
    for (size_t i = 0; whole && i < request->file_count; i++) {
        const struct run_file *file = &request->files[i];
        search->file = (uint32_t)i + 1;
        if (extension != NULL && content_is_program(file->path, extension))
            whole = search_text(search, file->content, file->length, &answer);
    }
    return answer;
}

struct content_answer content_check_tokens(struct call *call, const struct content_rules *rules,
                                           struct error *error)
{
    /* Not on the stack of a host's thread. */
    CLEANUP_FREE struct search *search = calloc(1, sizeof(*search));
    CLEANUP_FREE struct pattern *patterns = calloc(rules->token_count + 1, sizeof(*patterns));
    if (search != NULL && patterns != NULL) {
        search->findings = &call->content;
        search->rules = rules;
        search->syntax = content_syntax_find(rules->language);
        search->patterns = patterns;
        for (size_t i = 0; i < rules->token_count; i++)
            content_split_rule(search->syntax, rules->tokens[i].sequence, add_piece, &patterns[i]);
        struct content_answer answer = search_all(call, search);
        if (!search->failed)
            return answer;
    }
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the content check");
    return (struct content_answer){.verdict = CONTENT_STOPPED};
}
