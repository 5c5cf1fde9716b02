/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the addon by which Node waits for a run, and takes the cells of a session; preload.js and
 * session.js load it. Runs inside the interpreter, in its main thread.
 */
#include <string.h>

#include "backends/process/sandbox/sandbox.h"
#include "interpreter/node/node_api.h"
#include "interpreter/node/session_cells.h"

/* [[argument, ...], ["NAME=value", ...]] */
static napi_value wait_for_run(napi_env environment)
{
    struct sandbox sandbox = {0};
    struct taken_run run;
    napi_value both;
    interpreter_adopt(&sandbox);
    interpreter_take_run(&sandbox, &run);
    napi_value arguments = node_array_of(environment, run.arguments);
    napi_value variables = node_array_of(environment, run.environment);
    if (!arguments || !variables || napi_create_array(environment, &both) != 0 ||
        napi_set_element(environment, both, 0, arguments) != 0 ||
        napi_set_element(environment, both, 1, variables) != 0)
        return NULL;
    return both;
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env environment,
                                                                          napi_value exports);

/* For exports with a member "session": the functions of session_cells.h. Else loading it is waiting
 * for the run, which is exported. */
napi_value napi_register_module_v1(napi_env environment, napi_value exports)
{
    bool is_session = false;
    if (napi_has_named_property(environment, exports, "session", &is_session) != 0)
        return NULL;
    if (!is_session)
        return wait_for_run(environment);
    return session_cells_export(environment, exports) ? exports : NULL;
}
