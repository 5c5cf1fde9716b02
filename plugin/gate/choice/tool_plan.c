/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a program's tools: see tool_plan.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/choice/tool_plan.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy.h"
#include "vocabulary/language.h"
#include "vocabulary/pattern.h"

/* A later cell that leaves them out has those of its session. */
static const char *remedy(const struct call *call)
{
    return call->session && call->session->tools ? "give the cell \"tools\": []"
                                                 : "leave tools out";
}

static bool refuse(const struct call *call, struct error *error, const char *why)
{
    error_set(error, ERROR_NOT_SUPPORTED, "request: /tools: %s", why);
    error_set_hint(error, "%s", remedy(call));
    return false;
}

/* Those whose programs, or whose cells, can call tools in that mode. */
static uint32_t runners_of(const struct call *call, enum sandbox_mode mode)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(mode);
    return call->request.session ? row->tool_runners & row->session_runners : row->tool_runners;
}

static bool language_calls(const struct call *call, const struct language *language)
{
    return (runners_of(call, call->configuration.mode) & SANDBOX_MODE_RUNNER(language->runner)) !=
           0;
}

static bool refuse_language(const struct call *call, struct error *error)
{
    bool is_cell = call->request.session;
    char names[128] = "";
    size_t count;
    const struct language *languages = languages_all(&count);
    for (size_t i = 0; i < count; i++)
        if (language_calls(call, &languages[i]))
            text_add_name(names, sizeof(names), languages[i].name);
    error_set(error, ERROR_NOT_SUPPORTED,
              "request: /tools: %s of this language cannot call tools in mode %s; these can: %s",
              is_cell ? "cells" : "programs", sandbox_mode_name(call->configuration.mode), names);
    error_set_hint(error, "%s, or write the %s in one of those languages", remedy(call),
                   is_cell ? "cell" : "program");
    return false;
}

static bool refuse_mode(const struct call *call, struct error *error)
{
    char names[64] = "";
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (runners_of(call, (enum sandbox_mode)i) != 0)
            text_add_name(names, sizeof(names), sandbox_mode_name((enum sandbox_mode)i));
    error_set(error, ERROR_NOT_SUPPORTED, "request: /tools: mode %s carries no calls of tools%s",
              sandbox_mode_name(call->configuration.mode),
              call->request.session ? " from sessions" : "");
    error_set_hint(error, "%s, or ask the operator for a mode that does: %s", remedy(call), names);
    return false;
}

/* The same request as one that names them: so the hash, the capabilities and every question have
 * them. Where no cell can have any, it has none. */
static bool take_from_session(struct call *call, struct error *error)
{
    const struct session *session = call->session;
    if (call->request.tools || !session || !session->tools ||
        !language_calls(call, call->request.language))
        return true;
    call->request.tools = string_list_copy(session->tools, SIZE_MAX);
    if (!call->request.tools)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the cell's tools");
    return call->request.tools;
}

/* A shell has a command, whatever executes it. */
static bool has_command(const struct call *call)
{
    return call->request.language->runner == RUN_RUNNER_SHELL;
}

/* Any cell of a session may be the one that names tools, and the command has to be in its sandbox
 * by then. Another policy ends the session. */
static bool session_has_command(const struct call *call)
{
    char **allowed = call->configuration.policy->tools.allowed;
    return call->request.session && allowed && allowed[0] && has_command(call) &&
           language_calls(call, call->request.language);
}

/* The runner of a language is where its module for tools is. */
static bool can_call(const struct call *call, struct error *error)
{
    if (call->context.tools.count == 0)
        return refuse(call, error, "the gateway offers no tools");
    if (runners_of(call, call->configuration.mode) == 0)
        return refuse_mode(call, error);
    if (!language_calls(call, call->request.language))
        return refuse_language(call, error);
    return has_command(call) || call->description.preparation.runner != RUN_INTERPRETER_NONE ||
           refuse(call, error, "the policy's command of this language cannot call tools");
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
    call->description.tool_command = session_has_command(call);
    if (!take_from_session(call, error))
        return false;
    if (!call->request.tools || !call->request.tools[0])
        return true;
    const struct tool_filter filter = {may_be_called, call};
    if (!can_call(call, error) || !check_names(call, error) ||
        !tool_list_select(&call->context.tools, call->request.tools, &filter, &call->tools, error))
        return false;
    call->description.results = 1;
    call->description.tools = 1;
    call->description.tool_command = has_command(call);
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
