/* SPDX-License-Identifier: Apache-2.0 */
/* The call that runs the package manager, with a host of ours that keeps the files it leaves. Runs
 * on the thread inside tool_prepare(). */
#include "packages/build/environment_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "call/call.h"
#include "gate/gate.h"
#include "packages/build/build_programs.h"
#include "vocabulary/language.h"
#include "json/json_input.h"

#define ARCHIVE        "environment.tar"
#define PACKAGES       "packages.json"
#define PACKAGES_LIMIT ((size_t)8 << 20)
#define SHOWN_LIMIT    400 /* bytes of the last output of a build that failed */

/* The files of the call, as they come. */
struct build_host {
    int archive;
    int packages;
};

static void clear_host(struct build_host *host)
{
    close_fd(host->archive);
    close_fd(host->packages);
}

static void grant(void *user, const char *capability, uint32_t *verdict)
{
    (void)user;
    (void)capability;
    *verdict = TOOL_VERDICT_ALLOW;
}

/* The operator's own command is no call of a gateway. */
static void keep_no_record(void *user, const char *record_json, uint32_t *verdict)
{
    (void)user;
    (void)record_json;
    *verdict = TOOL_VERDICT_ALLOW;
}

static int *place_of(struct build_host *host, const char *path)
{
    if (strcmp(path, ARCHIVE) == 0)
        return &host->archive;
    return strcmp(path, PACKAGES) == 0 ? &host->packages : NULL;
}

static void keep_file(void *user, const char *file_json, int32_t descriptor, char *uri,
                      size_t capacity, size_t *length, uint32_t *verdict)
{
    json_auto_t *file = json_loads(file_json, 0, NULL);
    const char *path = json_string_value(json_object_get(file, "path"));
    int *place = path ? place_of(user, path) : NULL;
    if (!place || *place >= 0)
        return;
    *place = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
    if (*place < 0)
        return;
    *length = (size_t)snprintf(uri, capacity, "build:%s", path);
    *verdict = TOOL_VERDICT_ALLOW;
}

static json_t *request_of(const struct policy_environment *environment, json_t *lock)
{
    const struct environment_language_row *row = environment_language_find(environment->language);
    const struct build_program program = build_program_of(environment->language);
    json_auto_t *names = json_array();
    json_auto_t *settings = json_pack("{s:b, s:s?}", "build_scripts", environment->build_scripts,
                                      "wheelhouse", environment->wheelhouse);
    CLEANUP_FREE char *settings_text = settings ? json_dumps(settings, JSON_COMPACT) : NULL;
    for (char **name = environment->endpoints; *name; name++)
        if (json_array_append_new(names, json_string(*name)) != 0)
            return NULL;
    if (!names || !settings_text)
        return NULL;
    return json_pack("{s:s, s:s%, s:[{s:s, s:O}, {s:s, s:s}], s:[s, s], s:O}", "language",
                     row->language, "code", program.text, program.length, "files", "path",
                     row->lock_name, "content", lock, "path", "settings.json", "content",
                     settings_text, "outputs", ARCHIVE, PACKAGES, "endpoints", names);
}

/* The end of what it has printed, for people, on one line. */
static void tell_output(const struct call *call, struct error *error)
{
    size_t length = 0;
    bool replaced;
    CLEANUP_FREE char *text = output_capture_text(&call->run.errors.capture, &length, &replaced);
    const char *end = text && length > SHOWN_LIMIT ? text + length - SHOWN_LIMIT : text;
    while (end && ((unsigned char)*end & 0xc0) == 0x80)
        end++;
    for (char *at = text; at && *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    error_set(error, ERROR_ENVIRONMENT_NOT_BUILT, "the package manager has failed: %s",
              end && *end != '\0' ? end : "it has printed no error");
}

static bool has_succeeded(const struct call *call, struct error *error)
{
    const struct run_event *ended = &call->outcome.ended;
    if (ended->cause == RUN_CAUSE_EXIT && ended->exit_code == 0)
        return true;
    if (ended->cause == RUN_CAUSE_EXIT)
        tell_output(call, error);
    else
        error_set(error, ERROR_ENVIRONMENT_NOT_BUILT, "the build was ended: %s",
                  run_cause_name((enum run_cause)ended->cause));
    return false;
}

static json_t *read_packages(int fd, struct error *error)
{
    const struct json_input_limits limits = {.max_bytes = PACKAGES_LIMIT, .max_depth = 6};
    struct stat status;
    if (fstat(fd, &status) < 0 || status.st_size > (off_t)PACKAGES_LIMIT) {
        error_set(error, ERROR_ENVIRONMENT_NOT_BUILT, "the list of packages is too long");
        return NULL;
    }
    CLEANUP_FREE char *text = malloc((size_t)status.st_size + 1);
    ssize_t length = text ? pread(fd, text, (size_t)status.st_size, 0) : -1;
    if (length != status.st_size) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the list of packages");
        return NULL;
    }
    return json_input_parse(PACKAGES, text, (size_t)length, &limits, ERROR_ENVIRONMENT_NOT_BUILT,
                            error);
}

static bool take_image(const struct call *call, struct build_output *ret, struct error *error)
{
    if (!sandbox_mode_row(call->configuration.mode)->packages_in_image)
        return true;
    ret->images = json_pack("{s:s}", call->outcome.ended.image_id, call->description.image.name);
    if (!ret->images)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the name of the image");
    return ret->images;
}

static bool take_files(struct build_host *host, struct build_output *ret, struct error *error)
{
    if (host->archive < 0 || host->packages < 0) {
        error_set(error, ERROR_ENVIRONMENT_NOT_BUILT,
                  "the build has left no archive, or one of more than a gigabyte");
        return false;
    }
    ret->packages = read_packages(host->packages, error);
    if (!ret->packages)
        return false;
    ret->archive = TAKE_FD(host->archive);
    return true;
}

void build_output_clear(struct build_output *output)
{
    close_fd(output->archive);
    json_decref(output->packages);
    json_decref(output->images);
    *output = (struct build_output){.archive = -1};
}

static void end_call(struct call **call)
{
    if (*call)
        call_clear(*call);
    free(*call);
}

/* Of no gateway. NULL: no memory. */
static struct call *new_call(const struct configuration *configuration, struct build_host *files)
{
    const struct tool_host host = {
        .struct_size = sizeof(host),
        .abi_version = TOOL_ABI_VERSION,
        .user = files,
        .context_json = "{}",
        .check_capability = grant,
        .audit = keep_no_record,
        .store_file = keep_file,
    };
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call_init(call, &host);
    call->configuration = (struct configuration){.policy = policy_ref(configuration->policy),
                                                 .mode = configuration->mode};
    return call;
}

static bool pass(struct call *call, json_t *request, struct error *error)
{
    CLEANUP_FREE char *input = call && request ? json_dumps(request, JSON_COMPACT) : NULL;
    if (input)
        return gate_pass(call, "code_execute", input, error) && has_succeeded(call, error);
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the call of a build");
    return false;
}

bool build_run(const struct configuration *configuration,
               const struct policy_environment *environment, const char *lock_text,
               size_t lock_length, struct build_output *ret, struct error *error)
{
    CLEANUP(clear_host) struct build_host files = {.archive = -1, .packages = -1};
    json_auto_t *lock = json_stringn(lock_text, lock_length);
    if (!lock) {
        error_set(error, ERROR_ENVIRONMENT_NOT_BUILT,
                  "the lock file is no UTF-8 text, or there is no memory for it");
        return false;
    }
    json_auto_t *request = request_of(environment, lock);
    CLEANUP(end_call) struct call *call = new_call(configuration, &files);
    return pass(call, request, error) && take_image(call, ret, error) &&
           take_files(&files, ret, error);
}

bool build_try(const struct configuration *configuration,
               const struct policy_environment *environment, struct error *error)
{
    CLEANUP(clear_host) struct build_host files = {.archive = -1, .packages = -1};
    CLEANUP(configuration_clear) struct configuration of_try = {0};
    if (!sandbox_mode_row(configuration->mode)->packages_in_image)
        return true;
    if (!build_configure(configuration, environment, true, &of_try, error))
        return false;
    json_auto_t *request = json_pack("{s:s, s:s, s:s}", "language",
                                     environment_language_find(environment->language)->language,
                                     "code", "0", "packages", environment->name);
    CLEANUP(end_call) struct call *call = new_call(&of_try, &files);
    if (pass(call, request, error))
        return true;
    error_add_context(error, "they are built, and a run cannot have them");
    return false;
}
