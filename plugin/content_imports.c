/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the program that guards imports. Runs in the gateway, on the thread inside tool_invoke().
 */
#include "content_imports.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "content.h"
#include "content_program.h"
#include "json_text.h"

const struct content_rules *content_imports_rules(const struct policy_content *content,
                                                  const char *language)
{
    const struct content_rules *rules = policy_content_find(content, language);
    return rules != NULL && rules->enforce_imports ? rules : NULL;
}

static void write_list(struct json_draft *draft, const char *name, char *const *list)
{
    json_draft_open(draft, name, '[');
    for (; list != NULL && *list != NULL; list++)
        json_draft_string(draft, NULL, *list);
    json_draft_close(draft, ']');
}

/* JSON of texts and lists is Python too. */
static char *make_rules(const struct content_rules *rules, const struct request *request,
                        const char *program, size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "program", program);
    write_list(&draft, "allowed", rules->allowed_modules);
    write_list(&draft, "forbidden", rules->forbidden_modules);
    content_write_own_modules(&draft, "own", request);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, ret_length);
}

char *content_imports_program(const struct content_rules *rules, const struct request *request,
                              const char *program, size_t *ret_length)
{
    static const char assignment[] = "RULES = ";
    size_t length = 0;
    CLEANUP_FREE char *text = make_rules(rules, request, program, &length);
    size_t before = sizeof(assignment) - 1;
    size_t whole = before + length + 1 + enforce_imports_length;
    char *made = text != NULL ? malloc(whole + 1) : NULL;
    if (made == NULL)
        return NULL;
    memcpy(made, assignment, before);
    memcpy(made + before, text, length);
    made[before + length] = '\n';
    memcpy(made + before + length + 1, enforce_imports_text, enforce_imports_length + 1);
    *ret_length = whole;
    return made;
}
