/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and runs one case. Main thread. */
#include "conformance/conformance_case.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "conformance/probe_host.h"

__attribute__((format(printf, 2, 0))) static void set_remark(struct conformance *conformance,
                                                             const char *format, va_list arguments)
{
    (void)vsnprintf(conformance->remark, sizeof(conformance->remark), format, arguments);
}

enum case_result case_fail(struct conformance *conformance, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_remark(conformance, format, arguments);
    va_end(arguments);
    return CASE_FAILED;
}

enum case_result case_skip(struct conformance *conformance, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_remark(conformance, format, arguments);
    va_end(arguments);
    return CASE_SKIPPED;
}

enum case_result case_pass_with(struct conformance *conformance, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_remark(conformance, format, arguments);
    va_end(arguments);
    return CASE_PASSED;
}

const struct conformance_row *conformance_row_at(size_t index)
{
    static const struct conformance_row *const tables[] = {
        conformance_load_rows,   conformance_call_rows,     conformance_callback_rows,
        conformance_answer_rows, conformance_secret_rows,   conformance_file_rows,
        conformance_tool_rows,   conformance_lifecycle_rows};
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        for (const struct conformance_row *row = tables[i]; row->name; row++) {
            if (index-- == 0)
                return row;
        }
    }
    return NULL;
}

/* code_execute where there is one, because then a marker can show that nothing ran. */
static json_t *choose_tool(const json_t *manifest)
{
    const json_t *tools = json_object_get(manifest, "tools");
    size_t index = 0;
    json_t *tool = NULL;
    json_array_foreach(tools, index, tool)
    {
        if (strcmp(json_member_string(tool, "name", ""), "code_execute") == 0)
            return tool;
    }
    return json_array_get(tools, 0);
}

static bool open_provider(struct conformance *conformance)
{
    struct failure failure;
    if (provider_open(conformance->path, &conformance->provider, &failure))
        return true;
    (void)case_fail(conformance, "%s", failure.message);
    return false;
}

bool conformance_load(struct conformance *conformance)
{
    if (!open_provider(conformance))
        return false;
    const char *text = conformance->provider.manifest();
    json_auto_t *manifest = text ? json_loads(text, 0, NULL) : NULL;
    conformance->tool = json_incref(choose_tool(manifest));
    conformance->tool_name = json_member_string(conformance->tool, "name", NULL);
    if (!conformance->tool_name)
        (void)case_fail(conformance, "the manifest names no tool");
    return conformance->tool_name != NULL;
}

void conformance_unload(struct conformance *conformance)
{
    json_decref(TAKE_POINTER(conformance->tool));
    conformance->tool_name = NULL;
    provider_close(&conformance->provider);
}

const struct conformance_row *conformance_row_find(const char *name)
{
    for (size_t i = 0;; i++) {
        const struct conformance_row *row = conformance_row_at(i);
        if (!row || strcmp(row->name, name) == 0)
            return row;
    }
}

/* Whether it can be held here; false fills the remark with why not. */
static bool case_applies(struct conformance *conformance, const struct conformance_row *row)
{
    for (unsigned grant = 0; grant < GRANT_COUNT; grant++) {
        if ((row->flags & CASE_NEEDS_GRANT(grant)) &&
            !probe_host_grant_matters(conformance->probe, grant)) {
            (void)case_skip(conformance, "the provider does not need it here");
            return false;
        }
        probe_host_reset(conformance->probe);
    }
    return !(row->flags & CASE_NEEDS_A_RUN) || probe_host_can_run(conformance->probe);
}

enum case_result conformance_row_run(struct conformance *conformance,
                                     const struct conformance_row *row)
{
    CLEANUP(probe_host_free) struct probe_host *probe = probe_host_new(conformance);
    if (!probe)
        return case_fail(conformance, "out of memory");
    conformance->probe = probe;
    conformance->argument = row->argument;
    if (row->flags & CASE_LOADS_ITSELF)
        return row->function(conformance);
    if (row->flags & CASE_WITHOUT_TOOL)
        return open_provider(conformance) ? row->function(conformance) : CASE_FAILED;
    if (!conformance_load(conformance))
        return CASE_FAILED;
    enum case_result result = CASE_SKIPPED;
    if (case_applies(conformance, row)) {
        probe_host_reset(probe);
        result = row->function(conformance);
    }
    conformance_unload(conformance);
    return result;
}
