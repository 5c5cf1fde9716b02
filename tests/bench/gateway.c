/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway that scripts/bench measures with: loads the provider and does what it is told, one
 * JSON object a line on standard input, one line of answer each on standard output. A program of
 * its own: the interpreter that gives the orders is not in the figures, and what a gateway costs
 * can be looked at from outside between two orders.
 *
 *   bench_gateway PROVIDER.so
 *     {"do": "prepare", "configuration": {...}}   -> {"error": null or the provider's}
 *     {"do": "contest", ...}                      -> see contest.h
 *     {"do": "invoke", "request": {...}}         -> the result
 *     {"do": "lend", "path": FILE}                -> {}; calls may then name it by the ref "lent"
 *     {"do": "offer_tool"}                        -> {}; calls may then name the tool "echo"
 *     {"do": "shutdown"}                          -> {}
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"
#include "provider.h"

static json_t *prepare(const json_t *order)
{
    json_t *error = provider_prepare(json_object_get(order, "configuration"));
    return json_pack("{s:o?}", "error", error);
}

static json_t *invoke(const json_t *order)
{
    char *request = json_dumps(json_object_get(order, "request"), 0);
    json_t *result = request != NULL ? provider_result(request) : NULL;
    free(request);
    return result;
}

static json_t *obey(const json_t *order)
{
    const char *what = json_string_value(json_object_get(order, "do"));
    if (what != NULL && strcmp(what, "prepare") == 0)
        return prepare(order);
    if (what != NULL && strcmp(what, "contest") == 0)
        return contest_hold(order);
    if (what != NULL && strcmp(what, "invoke") == 0)
        return invoke(order);
    if (what != NULL && strcmp(what, "lend") == 0)
        return provider_lend(json_string_value(json_object_get(order, "path"))) ? json_object()
                                                                                : NULL;
    if (what != NULL && strcmp(what, "offer_tool") == 0)
        return provider_offer_tool() ? json_object() : NULL;
    if (what != NULL && strcmp(what, "shutdown") == 0) {
        provider_shutdown();
        return json_object();
    }
    return NULL;
}

/* false: the order could not be read or followed. */
static bool answer(const char *line)
{
    json_t *order = json_loads(line, 0, NULL);
    json_t *told = order != NULL ? obey(order) : NULL;
    char *text = told != NULL ? json_dumps(told, 0) : NULL;
    bool done = text != NULL && puts(text) >= 0 && fflush(stdout) == 0;
    free(text);
    json_decref(told);
    json_decref(order);
    return done;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_gateway PROVIDER.so\n");
        return 2;
    }
    provider_load(argv[1]);
    bool good = true;
    while (good && getline(&line, &capacity, stdin) > 0)
        good = answer(line);
    free(line);
    provider_shutdown();
    if (!good)
        (void)fprintf(stderr, "bench: an order could not be followed\n");
    return good ? 0 : 1;
}
