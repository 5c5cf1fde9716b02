/* SPDX-License-Identifier: Apache-2.0 */
/* Building run descriptions. Runs in the gateway, on the thread inside tool_invoke() or
 * tool_status(). */
#include "gate/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/string_list.h"
#include "call/call_limits.h"
#include "gate/choice/package_plan.h"
#include "gate/offer/offer_hint.h"
#include "run/describe.h"
#include "vocabulary/environment.h"

/* Without a sandbox nothing is kept. */
static bool prepare(struct call *call)
{
    struct run_description *description = &call->description;
    if (!sandbox_mode_row(call->configuration.mode)->isolation)
        return true;
    return call->environment ? package_plan_prepare(call)
                             : preparation_fill(&call->language->preparation, &call->request,
                                                call->language->file, description);
}

static bool describe_request_file(const struct request_file *file, struct run_file *ret)
{
    if (!file->ref)
        return describe_file(file->path, file->content, file->length, ret);
    ret->path = strdup(file->path);
    ret->length = file->length;
    ret->by_reference = true;
    memcpy(ret->sha256, file->sha256, sizeof(ret->sha256));
    return ret->path != NULL;
}

static bool add_files(struct call *call, struct error *error)
{
    struct run_description *description = &call->description;
    const struct request *request = &call->request;
    const char *program = call->language->file;
    description->files = calloc(request->file_count + 1 + request->secret_count,
                                sizeof(*description->files)); /* secrets may be files */
    bool copied = description->files != NULL;
    if (copied) {
        description->file_count = request->file_count + 1;
        copied =
            describe_file(program, request->code, request->code_length, &description->files[0]);
    }
    for (size_t i = 0; copied && i < request->file_count; i++) {
        const struct request_file *file = &request->files[i];
        if (path_is_within(file->path, program)) {
            error_set(error, ERROR_INVALID_INPUT,
                      "request: /files/%zu/path: %s is the program's own file", i, program);
            return false;
        }
        copied = describe_request_file(file, &description->files[i + 1]);
    }
    if (!copied)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the program's files");
    return copied;
}

/* What is collected. */
static bool describe_outputs(struct call *call)
{
    const struct policy_files_out *out = &call->transfers.files_out;
    struct run_outputs *ret = &call->description.outputs;
    ret->files = out->max_files;
    ret->file_bytes = out->file_bytes;
    ret->total_bytes = out->total_bytes;
    return !call->request.outputs ||
           string_list_append_all(&ret->patterns, (const char *const *)call->request.outputs);
}

static bool refuse_unsupported(const struct call *call, struct error *error)
{
    const struct request *request = &call->request;
    if (request->image && !sandbox_mode_row(call->configuration.mode)->has_images) {
        error_set(error, ERROR_NOT_SUPPORTED, "request: /image: mode %s has no images",
                  sandbox_mode_name(call->configuration.mode));
        return true;
    }
    return false;
}

/* The request's image, of the policy's list, or the language's own; NULL in other modes. */
static bool choose_image(const struct call *call, const char **ret, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    enum sandbox_mode mode = call->configuration.mode;
    const char *asked = call->request.image;
    char add_image[64];
    if (!sandbox_mode_row(mode)->has_images) {
        *ret = NULL;
        return true;
    }
    const struct policy_image *own = policy_find_image(policy, mode, call->language->name);
    if (asked && !policy_offers_image(policy, mode, asked)) {
        error_set(error, ERROR_POLICY_DENIED, "policy denied: image");
        offer_hint_image(call, own && policy_image_is_settled(policy, mode, own->name), error);
        return false;
    }
    if (!asked && !own) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED,
                  "the policy has no %s image for the language %s", sandbox_mode_name(mode),
                  call->language->name);
        (void)snprintf(add_image, sizeof(add_image), "add it to the policy's \"%s.images\"",
                       sandbox_mode_name(mode));
        offer_hint_language(call, add_image, error);
        return false;
    }
    *ret = asked ? asked : own->name;
    return true;
}

/* Those of a cell are behind the policy's, and not in their places: these are the session's. */
static bool add_variables(struct call *call)
{
    char ***list = &call->description.environment;
    char *const *variables = call->request.environment;
    if (call->request.session)
        return string_list_append_all(list, (const char *const *)variables);
    return environment_set_all(list, variables) && package_plan_keep(call);
}

bool plan_run(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    struct run_description *description = &call->description;
    if (refuse_unsupported(call, error))
        return false;
    call->language = policy_find_language(policy, call->request.language->name);
    if (!call->language) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED, "the policy does not offer the language %s",
                  call->request.language->name);
        offer_hint_language(call, "add it to the policy's \"languages\"", error);
        return false;
    }
    if (!narrowing_leaves_language(&call->context.narrowing, call->language->name)) {
        error_set(error, ERROR_LANGUAGE_NOT_ALLOWED,
                  "the gateway does not offer this caller the language %s", call->language->name);
        offer_hint_language(call, NULL, error);
        return false;
    }
    const char *image;
    if (!choose_image(call, &image, error))
        return false;
    memcpy(description->run_id, call->run_id, sizeof(description->run_id));
    call->transfers = narrowing_transfers(&call->context.narrowing, &policy->transfers);
    description->results =
        call->request.language->has_results && call->transfers.results.max_items > 0;
    call->limits = narrowing_limits(&call->context.narrowing, &call->language->limits);
    if (!call_limits_settle(call, error))
        return false;
    if (!describe_common(policy, call->configuration.mode, call->language, call->request.network,
                         description) ||
        !describe_image(policy, call->configuration.mode, image, &description->image) ||
        !describe_text(call->context.workspace, &description->workspace) ||
        !describe_command(description,
                          describe_command_of(policy, call->configuration.mode, call->language),
                          call->language->file) ||
        !package_plan_add(call) || !prepare(call) || !describe_outputs(call) ||
        !string_list_append_all(&description->argv, (const char *const *)call->request.args) ||
        !add_variables(call)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the run's description");
        return false;
    }
    return add_files(call, error);
}
