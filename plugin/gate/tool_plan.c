/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a program's tools: see tool_plan.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/tool_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "vocabulary/language.h"
#include "vocabulary/pattern.h"

static bool refuse(struct error *error, const char *why)
{
    error_set(error, ERROR_NOT_SUPPORTED, "request: /tools: %s", why);
    error_set_hint(error, "leave tools out");
    return false;
}

static bool refuse_language(struct error *error)
{
    char names[128] = "";
    size_t count;
    const struct language *languages = languages_all(&count);
    for (size_t i = 0, length = 0; i < count && length < sizeof(names); i++)
        if (languages[i].calls_tools)
            length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                       length > 0 ? ", " : "", languages[i].name);
    error_set(error, ERROR_NOT_SUPPORTED,
              "request: /tools: programs of this language cannot call tools; these can: %s", names);
    error_set_hint(error, "leave tools out, or write the program in one of those languages");
    return false;
}

/* The runner of a language is where its module for tools is. */
static bool can_call(const struct call *call, struct error *error)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(call->configuration.mode);
    if (call->context.tools.count == 0)
        return refuse(error, "the gateway offers no tools");
    if (!row->carries_tools) {
        error_set(error, ERROR_NOT_SUPPORTED, "request: /tools: mode %s carries no calls of tools",
                  row->name);
        error_set_hint(error, "leave tools out, or ask the operator for mode process");
        return false;
    }
    if (call->request.session)
        return refuse(error, "a cell of a session cannot call tools");
    if (!call->request.language->calls_tools)
        return refuse_language(error);
    return call->description.preparation.runner != RUN_INTERPRETER_NONE ||
           refuse(error, "the policy's command of this language cannot call tools");
}

/* A program that calls code_execute would be a way around its own limits. */
static bool is_ours(const char *name)
{
    return strcmp(name, "code_execute") == 0 || strcmp(name, "sandbox.exec") == 0;
}

bool tool_plan_allows(const struct policy *policy, const char *name)
{
    return !is_ours(name) && policy_allows_tool(policy, name);
}

static bool may_be_called(const void *user, const struct tool_definition *tool)
{
    const struct call *call = user;
    return tool_plan_allows(call->configuration.policy, tool->name);
}

static bool refuse_tool(const char *name, struct error *error)
{
    error_set(error, ERROR_POLICY_DENIED, "policy denied: tool %.128s", name);
    if (is_ours(name))
        error_set_hint(error, "a program cannot run code through the tool that runs it");
    else
        error_set_hint(error, "leave it out, or ask the operator to add it to the policy's "
                              "\"tools.allowed\"");
    return false;
}

/* Of a pattern what the policy allows; a whole name must be allowed. */
static bool check_names(const struct call *call, struct error *error)
{
    for (char **name = call->request.tools; *name; name++) {
        const struct tool_definition *tool = tool_list_find(&call->context.tools, *name);
        if (tool && !may_be_called(call, tool))
            return refuse_tool(*name, error);
    }
    return true;
}

bool tool_plan(struct call *call, struct error *error)
{
    tool_list_clear(&call->tools);
    call->description.tools = 0;
    if (!call->request.tools || !call->request.tools[0])
        return true;
    const struct tool_filter filter = {may_be_called, call};
    if (!can_call(call, error) || !check_names(call, error) ||
        !tool_list_select(&call->context.tools, call->request.tools, &filter, &call->tools, error))
        return false;
    call->description.results = 1;
    call->description.tools = 1;
    call->description.tools_wait_ms = call->configuration.policy->tools.wait_total_ms;
    return true;
}

static void write_tool(struct json_draft *draft, const struct tool_definition *tool, bool shown)
{
    json_draft_open(draft, NULL, '{');
    if (shown) {
        json_draft_string(draft, "approval", tool_approval_name(tool->approval));
        json_draft_string(draft, "description", tool->description);
    }
    json_draft_string(draft, "digest", tool->digest);
    json_draft_string(draft, "name", tool->name);
    if (shown)
        json_draft_string(draft, "title", tool->title);
    json_draft_close(draft, '}');
}

void tool_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                     bool shown)
{
    if (call->tools.count == 0)
        return;
    json_draft_open(draft, name, '[');
    for (size_t i = 0; i < call->tools.count; i++)
        write_tool(draft, &call->tools.items[i], shown);
    json_draft_close(draft, ']');
}
