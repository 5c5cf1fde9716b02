/* SPDX-License-Identifier: Apache-2.0
 * A program that calls tools of the gateway in a loop: cc tools.c $(pkg-config --cflags
 * tool-provider) -ldl    CODE_EXEC_POLICY=tools.json ./a.out code_execute.so   (gateway.c has
 * approval, secrets and the rest) */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool_provider.h"
#pragma GCC diagnostic ignored "-Wunused-parameter" /* a callback does not need all it is given */

static const char call[] =
    "{\"language\": \"python\", \"tools\": [\"query_database\"], \"code\": \"import tools\\n"
    "rows = [tools.query_database(month=month) for month in range(1, 13)]\\n"
    "print(sum(row['total'] for row in rows))\"}";

/* Two tools; the request names one. Calls of send_report would be asked about. */
static const char context[] =
    "{\"principal\": \"example\", \"tools\": [{\"name\": \"query_database\", \"approval\": "
    "\"never\","
    " \"description\": \"The sales of a month.\", \"input_schema\": {\"type\": \"object\","
    " \"properties\": {\"month\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 12}},"
    " \"required\": [\"month\"]}}, {\"name\": \"send_report\", \"input_schema\": {}}]}";

static tool_reply_call_fn reply_call;

static void check_capability(void *user, const char *name, uint32_t *verdict)
{
    if (strcmp(name, "sandbox.exec") == 0 || strcmp(name, "sandbox.exec.tools") == 0)
        *verdict = TOOL_VERDICT_ALLOW;
}

static void audit(void *user, const char *record, uint32_t *verdict)
{
    *verdict = fprintf(stderr, "audit: %s\n", record) > 0 ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY;
}

/* Answers at once. What takes longer than 50 ms answers from another thread, and says
 * TOOL_VERDICT_LATER here; a real gateway has a JSON library. The arguments fit the schema. */
static void call_tool(void *user, uint64_t token, const char *call_json, uint32_t *verdict)
{
    char reply[100];
    const char *arguments = strstr(call_json, "\"arguments\":");
    const char *month = arguments ? strpbrk(arguments, "0123456789") : NULL;
    if (!month || !strstr(call_json, "\"name\":\"query_database\""))
        return; /* the verdict is a denial */
    int length = snprintf(reply, sizeof(reply),
                          "{\"content\": [], \"structured_content\": {\"total\": %ld}}",
                          100 * strtol(month, NULL, 10));
    if (reply_call(token, reply, (size_t)length) == TOOL_ACCEPTED)
        *verdict = TOOL_VERDICT_LATER;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return 2;
    reply_call = (tool_reply_call_fn)dlsym(library, "tool_reply_call");
    struct tool_host host = {.struct_size = sizeof(host),
                             .abi_version = TOOL_ABI_VERSION,
                             .call_id = 1,
                             .context_json = context,
                             .check_capability = check_capability,
                             .audit = audit,
                             .call_tool = reply_call ? call_tool : NULL};
    char *result = NULL;
    int32_t ran =
        ((tool_invoke_fn)dlsym(library, "tool_invoke"))("code_execute", call, &host, &result);
    printf("result: %s\n", result ? result : "out of memory");
    ((tool_free_fn)dlsym(library, "tool_free"))(result);
    return ran;
}
