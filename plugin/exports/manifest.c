/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the manifest and keeping its text. The text and its lock are the only mutable state of
 * this part of the plugin. Runs in the gateway on any thread.
 */
#include "exports/manifest.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "protocol/layers.h"
#include "protocol/run_event.h"
#include "request/input_schema.h"
#include "result/result_member.h"
#include "vocabulary/capability.h"
#include "vocabulary/handle.h"
#include "json/json_text.h"

#define MANIFEST_VERSION 1
#define MANIFEST_ABI     "1.0"

static const char tool_description[] =
    "Runs a program in a fresh sandbox and returns what it printed. Use it to compute, to parse "
    "and transform data, and to check code by running it.\n"
    "- Give the whole program in code and its language. Every call starts from nothing: no file, "
    "variable or installed package of an earlier call is there.\n"
    "- Only stdout and stderr come back, so print the result. Long output loses its middle; print "
    "a summary.\n"
    "- No network and nothing of the user's machine, unless the operator grants it. Only the "
    "working directory and /tmp are writable. Usually 10 seconds, 256 MiB of memory, 64 MiB of "
    "files.\n"
    "- A person may have to approve the run; a reason helps them.\n"
    "- Credentials only by handle in secrets. Never write one into code.\n"
    "- status tells how it ended. completed with an exit code other than 0: read stderr, correct "
    "the program, call again. Otherwise error has code, message and hint: follow the hint, and "
    "repeat the identical call only where retryable is true.";

static const char instructions[] =
    "Use code_execute to compute, transform data and try code out: each call runs one whole "
    "program "
    "in a fresh sandbox and answers with what it printed. Nothing is kept between calls. Where a "
    "call "
    "was refused or ended early, follow the hint; a person may have to approve it first.";

/* Every call needs the first; default_grant: a host may grant it without being told to. */
static bool add_capability(enum capability capability, json_t *optional, json_t *default_grant,
                           json_t *meanings)
{
    const char *name = capability_name(capability);
    return (capability == CAPABILITY_EXEC ||
            json_array_append_new(optional, json_string(name)) == 0) &&
           (!capability_is_default_grant(capability) ||
            json_array_append_new(default_grant, json_string(name)) == 0) &&
           json_object_set_new(meanings, name, json_string(capability_meaning(capability))) == 0;
}

static json_t *capabilities(void)
{
    json_auto_t *optional = json_array();
    json_auto_t *default_grant = json_array();
    json_auto_t *meanings = json_object();
    for (size_t i = 0; i < CAPABILITY_COUNT; i++)
        if (!add_capability((enum capability)i, optional, default_grant, meanings))
            return NULL;
    return json_pack("{s:[s], s:O, s:O, s:O}", "required", capability_name(CAPABILITY_EXEC),
                     "optional", optional, "default_grant", default_grant, "meanings", meanings);
}

static json_t *annotations(void)
{
    return json_pack("{s:b, s:b, s:b, s:b}", "readOnlyHint", 0, "destructiveHint", 1,
                     "idempotentHint", 0, "openWorldHint", 0);
}

static json_t *tool(void)
{
    return json_pack(
        "{s:s, s:[s], s:s, s:s, s:o, s:o, s:o, s:o, s:{s:s, s:s}, s:{s:s, s:s}, s:o, s:o, s:i}",
        "name", "code_execute", "aliases", "sandbox.exec", "title", "Run code in a sandbox",
        "description", tool_description, "input_schema", input_schema(), "input_members",
        input_members(), "output_schema", result_schema(), "capabilities", capabilities(),
        "approval", "default", "ask", "member", "reason", "secrets", "handle",
        SECRET_HANDLE_PREFIX "NAME" SECRET_HANDLE_SUFFIX, "member", "secrets", "annotations",
        annotations(), "result", result_form(), "cost", 1);
}

static json_t *errors(void)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < ERROR_CODE_COUNT; i++) {
        enum error_code code = (enum error_code)i;
        json_t *entry = json_pack("{s:s, s:s, s:s, s:b}", "code", error_code_name(code), "meaning",
                                  error_code_meaning(code), "hint", error_code_hint(code),
                                  "retryable", (int)error_code_retryable(code));
        if (json_array_append_new(list, entry) < 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}

static json_t *layers(void)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        enum isolation_layer layer = (enum isolation_layer)i;
        json_t *entry = json_pack("{s:s, s:s}", "name", isolation_layer_name(layer), "meaning",
                                  isolation_layer_meaning(layer));
        if (json_array_append_new(list, entry) < 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}

static json_t *causes(void)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < RUN_CAUSE_COUNT; i++) {
        if (json_array_append_new(list, json_string(run_cause_name((enum run_cause)i))) < 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}

static json_t *manifest(void)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:[o], s:o, s:o, s:o}", "manifest_version",
                     MANIFEST_VERSION, "provider", "code-execute", "version", CODE_EXECUTE_VERSION,
                     "abi", MANIFEST_ABI, "instructions", instructions, "tools", tool(), "errors",
                     errors(), "layers", layers(), "causes", causes());
}

static char *manifest_build(void)
{
    json_auto_t *value = manifest();
    return json_text(value, JSON_ORDER_MADE);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *built; /* under lock; what it points to does not change until manifest_release() */

const char *manifest_text(void)
{
    pthread_mutex_lock(&lock);
    if (!built)
        built = manifest_build();
    const char *text = built;
    pthread_mutex_unlock(&lock);
    return text ? text : "{}";
}

void manifest_after_fork(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void manifest_release(void)
{
    pthread_mutex_lock(&lock);
    free(built);
    built = NULL;
    pthread_mutex_unlock(&lock);
}
