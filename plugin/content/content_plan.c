/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of the runs of content checks. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include <stdlib.h>
#include <string.h>

#include "base/string_list.h"
#include "content/content_checkers.h"
#include "run/describe.h"
#include "vocabulary/environment.h"

enum sandbox_mode content_checking_mode(enum sandbox_mode mode)
{
    return sandbox_mode_row(mode)->checked_in;
}

bool content_plan_check(const struct call *call, size_t file_limit, struct run_description *ret)
{
    static const struct request no_request;
    const struct policy *policy = call->configuration.policy;
    const struct policy_language *language = call->language;
    const struct run_image *image = &call->description.image;
    enum sandbox_mode mode = content_checking_mode(call->configuration.mode);
    memcpy(ret->run_id, call->run_id, sizeof(ret->run_id));
    describe_limits(&language->limits, &ret->limits);
    ret->limits.wall_ms = policy->content.timeout_ms;
    ret->files = calloc(file_limit, sizeof(*ret->files));
    return ret->files && describe_common(policy, mode, language, false, ret) &&
           describe_image(policy, mode, image->name, &ret->image) &&
           describe_text(image->id, &ret->image.id) && describe_text("", &ret->workspace) &&
           describe_command(ret, describe_command_of(policy, mode, language), language->file) &&
           preparation_fill(&language->preparation, &no_request, language->file, ret);
}

bool content_plan_command(const struct call *call, struct run_description *ret)
{
    const struct policy *policy = call->configuration.policy;
    const struct content_outsider *command = &policy->content.command;
    memcpy(ret->run_id, call->run_id, sizeof(ret->run_id));
    ret->isolation = RUN_ISOLATION_NONE;
    ret->limits.wall_ms = command->timeout_ms;
    return string_list_append_all(&ret->argv, (const char *const *)command->argv) &&
           string_list_append_all(&ret->runtime_path, (const char *const *)policy->runtime_path) &&
           environment_set_all(&ret->environment, policy->environment);
}
