/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of answers as JSON: see engine_http.h. Runs in the docker backend. */
#include "backends/docker/engine/engine_http.h"

#include <string.h>

#define REFUSAL_BEGIN 70 /* bytes of an engine's message */
#define REFUSAL_END   100

void engine_answer_refusal(const struct engine_answer *answer, const char *name, bool creating,
                           const char *what, struct engine_fault *fault)
{
    json_auto_t *json = json_loadb(answer->body, answer->length, 0, NULL);
    const char *message = json_string_value(json_object_get(json, "message"));
    size_t length = message ? strlen(message) : 0;
    bool cut = length > REFUSAL_BEGIN + REFUSAL_END;
    /* Podman's answer to what its API does not have. */
    bool unfit = creating && strcmp(name, "podman") == 0;
    /* An engine wraps its reason into where it was met: it stands at the end. */
    engine_fault_set(fault, unfit ? ENGINE_PROBLEM_UNFIT : ENGINE_PROBLEM_REFUSED,
                     "%s refused to %s (%ld): %.*s%s%s", name[0] ? name : "docker", what,
                     answer->status, cut ? REFUSAL_BEGIN : (int)length, message ? message : "",
                     cut ? " ... " : "", cut ? message + length - REFUSAL_END : "");
    for (char *c = fault->message; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
}

json_t *engine_answer_take(const struct engine_answer *answer, long expected, const char *name,
                           bool creating, const char *what, struct engine_fault *fault)
{
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        *fault = answer->fault;
        return NULL;
    }
    if (answer->status != expected) {
        engine_answer_refusal(answer, name, creating, what, fault);
        return NULL;
    }
    json_t *json = json_loadb(answer->body, answer->length, 0, NULL);
    if (json_is_object(json))
        return json;
    json_decref(json);
    engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "docker's answer is not a JSON object: %s",
                     what);
    return NULL;
}
