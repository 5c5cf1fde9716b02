/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the policy's "content_checks". A rule that could never apply is a mistake of who wrote
 * it, and refused. Pure code; runs in the gateway on the calling thread.
 */
#include "policy_content.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "content_scan.h"
#include "policy_parse.h"
#include "string_list.h"

#define WORD_LIMIT    256
#define TIMEOUT_LIMIT 60000 /* ms */

static bool check_module(const struct json_place *place, const char *name)
{
    size_t length = strlen(name);
    if (policy_is_plain_name(name, "_.") && name[length - 1] != '.' && strstr(name, "..") == NULL)
        return true;
    return json_place_refuse(place, "must be a name, or names with dots between");
}

static bool check_word(const struct json_place *place, const char *word)
{
    if (strlen(word) > WORD_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes long", WORD_LIMIT);
    for (const char *byte = word; *byte != '\0'; byte++)
        if ((unsigned char)*byte <= 0x20 || *byte == 0x7F)
            return json_place_refuse(place, "must be one word, without space");
    return true;
}

static bool read_action(const struct json_place *place, const json_t *object,
                        enum content_action *ret)
{
    static const char *const names[] = {[CONTENT_WARN] = "warn", [CONTENT_REFUSE] = "refuse"};
    struct json_place action = json_place_named(place, "action");
    const char *name;
    size_t choice;
    if (!json_read_string(&action, json_object_get(object, "action"), 1, 16, &name))
        return false;
    if (!policy_choose(name, names, COUNT_OF(names), &choice))
        return json_place_refuse(&action, "must be warn or refuse");
    *ret = (enum content_action)choice;
    return true;
}

/* Absent is false. */
static bool read_flag(const struct json_place *place, const json_t *object, const char *name,
                      bool *ret)
{
    const json_t *value = json_object_get(object, name);
    struct json_place flag = json_place_named(place, name);
    return value == NULL || json_read_boolean(&flag, value, ret);
}

/* Absent (NULL) is not the same as empty. */
static bool read_names(const struct json_place *place, const json_t *object, const char *name,
                       char ***ret)
{
    json_t *value = json_object_get(object, name);
    struct json_place list = json_place_named(place, name);
    return value == NULL || policy_read_strings(&list, value, 0, check_module, ret);
}

static bool read_text(const struct json_place *place, const json_t *object, const char *name,
                      size_t limit, char **ret)
{
    struct json_place text_place = json_place_named(place, name);
    const char *text;
    return json_read_string(&text_place, json_object_get(object, name), 1, limit, &text) &&
           policy_copy_text(&text_place, text, ret);
}

static void count_token(void *user, const struct content_token *token)
{
    (void)token;
    ++*(size_t *)user;
}

static bool parse_token_rule(const struct json_place *place, json_t *value,
                             const struct content_syntax *syntax, struct content_token_rule *rule)
{
    static const char *const members[] = {"name", "message", "sequence", "anywhere", NULL};
    struct json_place name = json_place_named(place, "name");
    struct json_place sequence = json_place_named(place, "sequence");
    if (!json_read_known_members(place, value, members) ||
        !read_text(place, value, "name", CONTENT_RULE_LIMIT, &rule->name) ||
        !read_text(place, value, "message", CONTENT_MESSAGE_LIMIT, &rule->message) ||
        !read_flag(place, value, "anywhere", &rule->anywhere) ||
        !policy_read_strings(&sequence, json_object_get(value, "sequence"), 1, check_word,
                             &rule->sequence))
        return false;
    if (!policy_is_plain_name(rule->name, "_-"))
        return json_place_refuse(&name, "must be letters, digits, \"_\" and \"-\"");
    size_t count = 0;
    content_split_rule(syntax, rule->sequence, count_token, &count);
    if (count <= CONTENT_PATTERN_LIMIT)
        return true;
    return json_place_refuse(&sequence, "must have at most %d words and signs",
                             CONTENT_PATTERN_LIMIT);
}

static bool parse_tokens(const struct json_place *place, json_t *value, struct content_rules *rules)
{
    const struct content_syntax *syntax = content_syntax_find(rules->language);
    if (!json_read_array(place, value, 0, POLICY_LIST_LIMIT))
        return false;
    rules->tokens = calloc(json_array_size(value) + 1, sizeof(*rules->tokens));
    if (rules->tokens == NULL)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        rules->token_count++; /* first: a half-read rule is the policy's to free */
        if (!parse_token_rule(&item, json_array_get(value, i), syntax, &rules->tokens[i]))
            return false;
    }
    return true;
}

/* Python is read by its syntax tree. */
static bool parse_python(const struct json_place *place, json_t *value, struct content_rules *rules)
{
    static const char *const members[] = {
        "action",          "required", "allowed_modules", "forbidden_modules", "forbidden_names",
        "enforce_imports", NULL};
    struct json_place enforce = json_place_named(place, "enforce_imports");
    if (!json_read_known_members(place, value, members) ||
        !read_names(place, value, "allowed_modules", &rules->allowed_modules) ||
        !read_names(place, value, "forbidden_modules", &rules->forbidden_modules) ||
        !read_names(place, value, "forbidden_names", &rules->forbidden_names) ||
        !read_flag(place, value, "enforce_imports", &rules->enforce_imports))
        return false;
    if (!rules->enforce_imports || rules->allowed_modules != NULL)
        return true;
    return json_place_refuse(&enforce, "needs \"allowed_modules\"");
}

/* Others are read word by word. */
static bool parse_other(const struct json_place *place, json_t *value, struct content_rules *rules)
{
    static const char *const members[] = {"action", "required", "tokens", NULL};
    struct json_place tokens = json_place_named(place, "tokens");
    return json_read_known_members(place, value, members) &&
           parse_tokens(&tokens, json_object_get(value, "tokens"), rules);
}

static bool parse_rules(const struct json_place *place, const char *language, json_t *value,
                        struct content_rules *rules)
{
    if (!policy_check_language(place, language) ||
        !policy_copy_text(place, language, &rules->language) || !json_read_object(place, value) ||
        !read_action(place, value, &rules->action) ||
        !read_flag(place, value, "required", &rules->required))
        return false;
    return strcmp(language, "python") == 0 ? parse_python(place, value, rules)
                                           : parse_other(place, value, rules);
}

static bool parse_languages(const struct json_place *place, json_t *value,
                            struct policy_content *content)
{
    if (!json_read_object(place, value))
        return false;
    content->languages = calloc(json_object_size(value) + 1, sizeof(*content->languages));
    if (content->languages == NULL)
        return json_place_out_of_memory(place);
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place language = json_place_named(place, name);
        if (!parse_rules(&language, name, json_object_iter_value(at),
                         &content->languages[content->language_count++]))
            return false;
    }
    return true;
}

/* Absent: what it finds is warned of. */
static bool parse_host(const struct json_place *place, json_t *value, struct content_outsider *host)
{
    static const char *const members[] = {"action", "required", NULL};
    return value == NULL || (json_read_known_members(place, value, members) &&
                             read_action(place, value, &host->action) &&
                             read_flag(place, value, "required", &host->required));
}

/* Absent: there is none. */
static bool parse_command(const struct json_place *place, json_t *value,
                          struct content_outsider *command)
{
    static const char *const members[] = {"action", "required", "argv", "timeout_ms", NULL};
    struct json_place argv = json_place_named(place, "argv");
    struct json_place timeout = json_place_named(place, "timeout_ms");
    int64_t timeout_ms;
    if (value == NULL)
        return true;
    if (!json_read_known_members(place, value, members) ||
        !read_action(place, value, &command->action) ||
        !read_flag(place, value, "required", &command->required) ||
        !policy_read_strings(&argv, json_object_get(value, "argv"), 1, NULL, &command->argv) ||
        !json_read_integer(&timeout, json_object_get(value, "timeout_ms"), 1, TIMEOUT_LIMIT,
                           &timeout_ms))
        return false;
    command->timeout_ms = (uint64_t)timeout_ms;
    struct json_place program = json_place_item(&argv, 0);
    return policy_check_path(&program, command->argv[0]);
}

bool policy_parse_content(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"timeout_ms", "languages", "host", "command", NULL};
    struct json_place timeout = json_place_named(place, "timeout_ms");
    struct json_place languages = json_place_named(place, "languages");
    struct json_place host = json_place_named(place, "host");
    struct json_place command = json_place_named(place, "command");
    int64_t timeout_ms;
    if (!json_read_known_members(place, value, members) ||
        !json_read_integer(&timeout, json_object_get(value, "timeout_ms"), 1, TIMEOUT_LIMIT,
                           &timeout_ms))
        return false;
    policy->content.timeout_ms = (uint64_t)timeout_ms;
    return parse_languages(&languages, json_object_get(value, "languages"), &policy->content) &&
           parse_host(&host, json_object_get(value, "host"), &policy->content.host) &&
           parse_command(&command, json_object_get(value, "command"), &policy->content.command);
}

const struct content_rules *policy_content_find(const struct policy_content *content,
                                                const char *language)
{
    for (size_t i = 0; i < content->language_count; i++)
        if (strcmp(content->languages[i].language, language) == 0)
            return &content->languages[i];
    return NULL;
}

static void clear_rules(struct content_rules *rules)
{
    for (size_t i = 0; i < rules->token_count; i++) {
        free(rules->tokens[i].name);
        free(rules->tokens[i].message);
        string_list_free(rules->tokens[i].sequence);
    }
    free(rules->tokens);
    free(rules->language);
    string_list_free(rules->allowed_modules);
    string_list_free(rules->forbidden_modules);
    string_list_free(rules->forbidden_names);
}

void policy_content_clear(struct policy_content *content)
{
    for (size_t i = 0; i < content->language_count; i++)
        clear_rules(&content->languages[i]);
    free(content->languages);
    string_list_free(content->command.argv);
    *content = (struct policy_content){0};
}
