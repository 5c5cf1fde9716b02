/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks each interpreter for its version, in the sandbox that a run of its language would get, and
 * reports how those that wait for runs are prepared. Runs in the gateway, on the thread inside
 * tool_prepare().
 */
#include "exports/prepare_query.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "run/describe.h"
#include "run/readiness.h"
#include "run/run.h"

#define OUTPUT_LIMIT 4096u

/* Prints the path, then the first line with a digit that the interpreter answers; dash has none. */
static const char script[] = "command -v -- \"$1\" || exit 0\n"
                             "for option in --version -v; do\n"
                             "  text=$(\"$1\" $option </dev/null 2>&1) || continue\n"
                             "  printf '%s\\n' \"$text\" | while IFS= read -r line; do\n"
                             "    case $line in *[0-9]*) printf '%s\\n' \"$line\"; break ;; esac\n"
                             "  done\n"
                             "  break\n"
                             "done\n";

static bool describe(const struct trial_subject *subject, const char *image_id,
                     struct run_description *ret)
{
    const char *const command[] = {"sh", "-c", script, "sh", NULL};
    if (!describe_trial(subject, ret))
        return false;
    CLEANUP(cleanup_string_list) char **program = TAKE_POINTER(ret->argv);
    ret->purpose = RUN_PURPOSE_PROGRAM;
    if (image_id[0] != '\0') {
        free(ret->image.id);
        ret->image.id = strdup(image_id);
        if (!ret->image.id)
            return false;
    }
    return string_list_append_all(&ret->argv, command) &&
           string_list_append(&ret->argv, program[0]);
}

/* The output of the script; new, NULL where it could not be run. */
static char *run_script(enum sandbox_mode mode, const struct run_description *description)
{
    static const struct tool_host no_host;
    CLEANUP_CLOSE int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP(run_clear)
    struct run run = {
        .mode = mode,
        .description = description,
        .stdin_fd = input,
        .endpoints_fd = -1,
        .cancel_fd = -1,
        .output_limit = OUTPUT_LIMIT,
        .output = {.id = TOOL_STREAM_STDOUT, .host = &no_host},
        .errors = {.id = TOOL_STREAM_STDERR, .host = &no_host},
    };
    struct run_outcome outcome = {0};
    struct error error;
    size_t length = 0;
    bool replaced = false;
    output_capture_init(&run.output.capture, OUTPUT_LIMIT);
    output_capture_init(&run.errors.capture, OUTPUT_LIMIT);
    if (!run_execute(&run, &outcome, &error) || outcome.ended.failure != RUN_FAILURE_NONE)
        return NULL;
    return output_capture_text(&run.output.capture, &length, &replaced);
}

/* The next line of *text as JSON, null where there is none. */
static json_t *take_line(char **text)
{
    char *line = *text ? strsep(text, "\n") : NULL;
    return line && line[0] != '\0' ? json_string(line) : json_null();
}

static json_t *facts_of(const struct configuration *configuration,
                        const struct policy_language *language)
{
    const struct policy *policy = configuration->policy;
    const struct policy_image *image =
        policy_find_image(policy, configuration->mode, language->name);
    const struct trial_subject subject = {
        .policy = policy,
        .mode = configuration->mode,
        .language = language,
        .image = image ? image->name : NULL,
    };
    static const struct tool_host no_host;
    const struct trial_watcher nobody = {.host = &no_host, .cancel_fd = -1};
    CLEANUP(run_description_clear) struct run_description description = {0};
    char image_id[IMAGE_ID_SIZE] = "";
    struct error error;
    if (!readiness_check(&subject, &nobody, image_id, &error) ||
        !describe(&subject, image_id, &description))
        return NULL;
    CLEANUP_FREE char *text = run_script(configuration->mode, &description);
    char *rest = text;
    json_t *path = take_line(&rest);
    json_t *version = take_line(&rest);
    return json_pack("{s:s, s:o, s:o, s:o}", "language", language->name, "path", path, "version",
                     version, "preparation", preparation_facts(&subject));
}

json_t *interpreter_facts(const struct configuration *configuration)
{
    const struct policy *policy = configuration->policy;
    json_auto_t *list = json_array();
    for (size_t i = 0; i < policy->language_count; i++) {
        json_t *facts = facts_of(configuration, &policy->languages[i]);
        if (facts && json_array_append_new(list, facts) != 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}
