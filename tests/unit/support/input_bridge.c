/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets other languages ask the plugin's inner parts for their verdict. Single-threaded program.
 *   input_bridge manifest          prints the manifest
 *   input_bridge examples          prints an object of the members' examples, in lists
 *   input_bridge requests          reads one request a line
 *   input_bridge policies          reads one policy (a merge patch) a line
 *   input_bridge contexts          reads one context_json a line
 *   input_bridge results           reads one result a line
 *   input_bridge canonical         reads one JSON value a line, and answers with its canonical text
 * and answers each line with "ok" or "<error code>\t<message>".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "call/call.h"
#include "call/context.h"
#include "exports/manifest.h"
#include "policy/policy.h"
#include "request/request_fields.h"
#include "result_schema.h"
#include "json/canonical.h"

static bool judge_request(const char *line, size_t length, struct error *error)
{
    struct request request;
    if (!request_parse(REQUEST_CODE_EXECUTE, line, length, &request, error))
        return false;
    request_clear(&request);
    return true;
}

static bool judge_policy(const char *line, size_t length, struct error *error)
{
    struct policy *policy = policy_load_text("line", line, length, error);
    policy_unref(policy);
    return policy != NULL;
}

static bool judge_context(const char *line, size_t length, struct error *error)
{
    CLEANUP_FREE char *text = copy_bytes(line, length);
    struct call call;
    call_init(&call, NULL);
    bool taken = text != NULL && context_parse(text, &call.context, error);
    call_clear(&call);
    return taken;
}

static bool judge_result(const char *line, size_t length, struct error *error)
{
    json_auto_t *result = json_loadb(line, length, 0, NULL);
    struct result_fault fault;
    if (result_fits(result, &fault))
        return true;
    error_set(error, ERROR_INTERNAL, "%s", fault.text);
    return false;
}

static int judge_lines(bool (*judge)(const char *line, size_t length, struct error *error))
{
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        struct error error;
        if (line[length - 1] == '\n')
            length--;
        if (judge(line, (size_t)length, &error))
            puts("ok");
        else
            printf("%s\t%s\n", error_code_name(error.code), error.message);
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Lines that are no JSON, and values that have no canonical text here, are answered with "none". */
static int write_canonical_lines(void)
{
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        json_auto_t *value = json_loadb(
            line, (size_t)length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        CLEANUP_FREE char *text = value != NULL ? canonical_json(value) : NULL;
        puts(text != NULL ? text : "none");
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_examples(void)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    json_auto_t *examples = json_object();
    for (size_t i = 0; i < count; i++) {
        json_t *list = json_array();
        for (size_t j = 0; j < COUNT_OF(fields[i].examples) && fields[i].examples[j]; j++)
            json_array_append_new(list, json_loads(fields[i].examples[j], JSON_DECODE_ANY, NULL));
        json_object_set_new(examples, fields[i].name, list);
    }
    return json_dumpf(examples, stdout, 0) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "requests") == 0)
        return judge_lines(judge_request);
    if (strcmp(what, "policies") == 0)
        return judge_lines(judge_policy);
    if (strcmp(what, "contexts") == 0)
        return judge_lines(judge_context);
    if (strcmp(what, "results") == 0)
        return judge_lines(judge_result);
    if (strcmp(what, "canonical") == 0)
        return write_canonical_lines();
    if (strcmp(what, "manifest") == 0)
        return puts(manifest_text()) >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    if (strcmp(what, "examples") == 0)
        return print_examples();
    fputs("usage: input_bridge manifest|examples|requests|policies|contexts|results|canonical\n",
          stderr);
    return 2;
}
