/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the addon by which Node waits for a run; preload.js loads it, and loading is waiting. Runs
 * inside the interpreter, in its main thread. Of Node-API (stable since version 1, "ABI stability"
 * of the Node.js documentation) it needs the registration and one function, written out so that no
 * version's headers are needed.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backends/process/sandbox/sandbox.h"

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;

int napi_create_array(napi_env environment, napi_value *result);
int napi_set_element(napi_env environment, napi_value object, uint32_t index, napi_value value);
int napi_create_string_utf8(napi_env environment, const char *string, size_t length,
                            napi_value *result);

static napi_value array_of(napi_env environment, char *const *strings)
{
    napi_value array;
    napi_value string;
    if (napi_create_array(environment, &array) != 0)
        return NULL;
    for (uint32_t i = 0; strings[i]; i++)
        if (napi_create_string_utf8(environment, strings[i], strlen(strings[i]), &string) != 0 ||
            napi_set_element(environment, array, i, string) != 0)
            return NULL;
    return array;
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env environment,
                                                                          napi_value exports);

/* The exports: [[argument, ...], ["NAME=value", ...]] */
napi_value napi_register_module_v1(napi_env environment, napi_value exports)
{
    struct sandbox sandbox = {0};
    struct taken_run run;
    napi_value both;
    (void)exports;
    interpreter_adopt(&sandbox);
    interpreter_take_run(&sandbox, &run);
    napi_value arguments = array_of(environment, run.arguments);
    napi_value variables = array_of(environment, run.environment);
    if (!arguments || !variables || napi_create_array(environment, &both) != 0 ||
        napi_set_element(environment, both, 0, arguments) != 0 ||
        napi_set_element(environment, both, 1, variables) != 0)
        return NULL;
    return both;
}
