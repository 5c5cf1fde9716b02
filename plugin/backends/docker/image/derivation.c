/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the chain of requests for a derived image: see derivation.h. Runs in the docker backend. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "backends/docker/image/derivation_private.h"
#include "backends/docker/image/package_layer.h"
#include "base/cleanup.h"
#include "protocol/run_description.h"

#define PATH_LIMIT       512
#define MAKING_TIME_MS   60000  /* some storage drivers copy the whole image */
#define PACKAGES_TIME_MS 900000 /* gigabytes may go over a network */
#define REMOVE_ATTEMPTS  5
#define LATEST_S         3600 /* no owner needs the container after that */

/* {"label":["code-execute.base=ID","code-execute.guest=DIGEST"]}, and of packages their hash. */
#define LIST_PATH                                                                              \
    "/v1.%u/images/json?filters=%%7B%%22label%%22%%3A%%5B%%22" DERIVED_LABEL_BASE "%%3D%s%%22" \
    "%%2C%%22" DERIVED_LABEL_GUEST "%%3D%s%%22%s%s%s%%5D%%7D"
#define LIST_PACKAGES "%2C%22" DERIVED_LABEL_PACKAGES "%3D"
#define LIST_END      "%22"

static bool has_packages(const struct derivation *derivation)
{
    return derivation->packages[0] != '\0';
}

/* What its layer holds, for messages. */
static const char *contents(const struct derivation *derivation)
{
    return has_packages(derivation) ? "packages" : "guest";
}

static struct derived_identity identity_of(const struct derivation *derivation)
{
    return (struct derived_identity){
        .base_id = derivation->base_id,
        .guest = derivation->guest->identity.digest,
        .packages = has_packages(derivation) ? derivation->packages : NULL,
    };
}

static void answer_waiters(struct derivation *derivation, const char *id,
                           const struct engine_fault *fault)
{
    struct image_waiter *waiter;
    while ((waiter = derivation->waiters)) {
        derivation->waiters = waiter->next;
        waiter->derivation = NULL;
        waiter->done(waiter, id, fault);
    }
}

static engine_done take_removal;

static void remove_container(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s?force=1&v=1", derivation->api,
                   derivation->name);
    const struct engine_request request = {
        .address = &derivation->address,
        .method = "DELETE",
        .path = path,
        .timeout_ms = ENGINE_TIME_MS,
        .done = take_removal,
        .user = derivation,
    };
    derivation->removal = engine_call_start(derivation->environment->client, &request);
}

/* What stays after all attempts has the labels of its owner, and is the sweep's. */
static void take_removal(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    derivation->removal = NULL;
    bool gone = answer->fault.problem == ENGINE_PROBLEM_NONE &&
                (answer->status == 204 || answer->status == 200 || answer->status == 404);
    if (!gone && ++derivation->attempts < REMOVE_ATTEMPTS)
        remove_container(derivation);
}

/* Before the waiters know: one of them may begin another derivation of the same base. */
static void conclude(struct derivation *derivation, const char *id,
                     const struct engine_fault *fault)
{
    if (!derivation->over && derivation->name[0] != '\0' && !derivation->creating)
        remove_container(derivation);
    derivation->over = true;
    image_waiter_leave(&derivation->parent);
    if (id)
        image_store_keep(derivation->environment->images, derivation->engine, derivation->base_id,
                         derivation->packages, id);
    answer_waiters(derivation, id, fault);
}

void derivation_fail(struct derivation *derivation, const struct engine_fault *fault)
{
    conclude(derivation, NULL, fault);
}

static void fail_without_memory(struct derivation *derivation)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "make the image with the %s",
                     contents(derivation));
    derivation_fail(derivation, &fault);
}

static void ask(struct derivation *derivation, const struct engine_request *asked)
{
    struct engine_request request = *asked;
    request.address = &derivation->address;
    request.user = derivation;
    derivation->call = engine_call_start(derivation->environment->client, &request);
    if (derivation->call)
        return;
    derivation->creating = false;
    fail_without_memory(derivation);
}

static void inspect(struct derivation *derivation, const char *id, engine_done *done)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/images/%s/json", derivation->api, id);
    ask(derivation, &(struct engine_request){
                        .method = "GET", .path = path, .timeout_ms = ENGINE_TIME_MS, .done = done});
}

/* The answer's JSON object (new), or NULL, and the derivation has failed: an engine that refuses
 * this cannot be given the guest. */
static json_t *take_answer(struct derivation *derivation, const struct engine_answer *answer,
                           long expected, const char *verb)
{
    struct engine_fault fault;
    char what[64];
    const char *name = derivation->engine->facts.name;
    (void)snprintf(what, sizeof(what), "%s the image with the %s", verb, contents(derivation));
    json_t *json = engine_answer_take(answer, expected, name, false, what, &fault);
    if (json)
        return json;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status != expected)
        fault.problem = ENGINE_PROBLEM_NO_COMMIT;
    derivation_fail(derivation, &fault);
    return NULL;
}

static char *made_layer(const struct derivation *derivation)
{
    return derivation->guest->made_layers[derivation->engine - derivation->environment->engines];
}

static bool is_layer_known(const struct derivation *derivation, const char *layer)
{
    if (has_packages(derivation))
        return package_layer_is_known(derivation->environment->images, derivation->engine,
                                      derivation->set, derivation->packages, layer);
    return derived_image_layer_is_known(&derivation->guest->identity, layer) ||
           (layer && layer[0] != '\0' && strcmp(made_layer(derivation), layer) == 0);
}

static void note_layer(const struct derivation *derivation, const char *layer)
{
    if (has_packages(derivation))
        package_layer_note(derivation->environment->images, derivation->engine, derivation->set,
                           derivation->packages, layer);
    else
        (void)snprintf(made_layer(derivation), LAYER_DIGEST_LIMIT + 1, "%s", layer ? layer : "");
}

/* What the engine has just made of our archive has it, in whatever form it is. */
static void take_made_image(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault;
    char field[100];
    derivation->call = NULL;
    json_auto_t *image = take_answer(derivation, answer, 200, "describe");
    if (!image)
        return;
    const struct derived_identity identity = identity_of(derivation);
    if (!derived_image_attest(derivation->from, &identity, image, field, sizeof(field))) {
        engine_fault_set(&fault, ENGINE_PROBLEM_ALTERED,
                         "the image that docker made is not the one that was requested: %s differs",
                         field);
        derivation_fail(derivation, &fault);
        return;
    }
    note_layer(derivation, derived_image_layer(image));
    conclude(derivation, derivation->id, NULL);
}

static void take_commit(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault;
    derivation->call = NULL;
    json_auto_t *made = take_answer(derivation, answer, 201, "commit");
    const char *id = json_string_value(json_object_get(made, "Id"));
    if (!made)
        return;
    if (!engine_image_id_is_good(id)) {
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT,
                         "docker did not report the id of the image with the %s",
                         contents(derivation));
        derivation_fail(derivation, &fault);
        return;
    }
    (void)snprintf(derivation->id, sizeof(derivation->id), "%s", id);
    inspect(derivation, derivation->id, take_made_image);
}

static void commit(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    const struct derived_identity identity = identity_of(derivation);
    json_auto_t *config = derived_image_config(derivation->from, &identity, derivation->labels);
    CLEANUP_FREE char *body = config ? json_dumps(config, JSON_COMPACT) : NULL;
    if (!body) {
        fail_without_memory(derivation);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/commit?container=%s&pause=0", derivation->api,
                   derivation->name);
    ask(derivation, &(struct engine_request){
                        .method = "POST",
                        .path = path,
                        .body = body,
                        .timeout_ms = has_packages(derivation) ? PACKAGES_TIME_MS : MAKING_TIME_MS,
                        .done = take_commit});
}

/* Were the bytes that it has got those of the set? */
static bool check_sent(const struct derivation *derivation, struct engine_fault *fault)
{
    if (!derivation->archive)
        return true;
    const struct error *error = package_archive_error(derivation->archive);
    const char *sha256 = package_archive_sha256(derivation->archive);
    if (error->message[0] != '\0')
        return engine_fault_set(fault, ENGINE_PROBLEM_PACKAGES, "packages: %.200s", error->message);
    return !sha256 || strcmp(sha256, derivation->packages) == 0 ||
           engine_fault_set(fault, ENGINE_PROBLEM_PACKAGES,
                            "packages: they are not the ones that were built: %.64s", sha256);
}

static void take_archive_answer(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault = answer->fault;
    derivation->call = NULL;
    bool is_right = check_sent(derivation, &fault);
    bool is_whole = !derivation->archive || package_archive_sha256(derivation->archive);
    if (is_right && is_whole && fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200) {
        package_archive_close(TAKE_POINTER(derivation->archive));
        commit(derivation);
        return;
    }
    if (is_right && fault.problem == ENGINE_PROBLEM_NONE) {
        char what[32];
        (void)snprintf(what, sizeof(what), "take the %s", contents(derivation));
        engine_answer_refusal(answer, derivation->engine->facts.name, false, what, &fault);
        fault.problem = ENGINE_PROBLEM_NO_COMMIT;
    }
    derivation_fail(derivation, &fault);
}

static size_t read_archive(void *user, char *bytes, size_t capacity)
{
    struct derivation *derivation = user;
    ssize_t count = package_archive_read(derivation->archive, bytes, capacity);
    return count < 0 ? ENGINE_READ_FAILED : (size_t)count;
}

static bool open_packages(struct derivation *derivation)
{
    struct error error;
    struct engine_fault fault;
    CLEANUP_CLOSE int content =
        openat(derivation->set, "content", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (content < 0)
        error_set_errno(&error, ERROR_ENVIRONMENT_CHANGED, errno, "they cannot be read");
    else
        derivation->archive =
            package_archive_open(content, &RUN_PACKAGES[1], &derivation->limits, &error);
    if (derivation->archive)
        return true;
    engine_fault_set(&fault, ENGINE_PROBLEM_PACKAGES, "packages: %.200s", error.message);
    derivation_fail(derivation, &fault);
    return false;
}

static void send_archive(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    bool streams = has_packages(derivation);
    if (streams && !open_packages(derivation))
        return;
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/archive?path=%%2F", derivation->api,
                   derivation->name);
    ask(derivation,
        &(struct engine_request){.method = "PUT",
                                 .path = path,
                                 .archive = streams ? NULL : derivation->guest->archive,
                                 .archive_length = streams ? 0 : derivation->guest->length,
                                 .read = streams ? read_archive : NULL,
                                 .timeout_ms = streams ? PACKAGES_TIME_MS : ENGINE_TIME_MS,
                                 .done = take_archive_answer});
}

static void take_created(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault;
    derivation->call = NULL;
    derivation->creating = false;
    if (derivation->over) {
        remove_container(derivation);
        return;
    }
    char what[64];
    (void)snprintf(what, sizeof(what), "create the container for the %s", contents(derivation));
    json_auto_t *made =
        engine_answer_take(answer, 201, derivation->engine->facts.name, true, what, &fault);
    if (made)
        send_archive(derivation);
    else
        derivation_fail(derivation, &fault);
}

static bool choose_name(struct derivation *derivation)
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    (void)snprintf(derivation->name, sizeof(derivation->name),
                   "code-execute-image-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return true;
}

static void create(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    const struct docker_environment *environment = derivation->environment;
    derivation->labels = owner_labels(&environment->owner, "image", (int64_t)time(NULL) + LATEST_S);
    json_auto_t *config = derived_image_container(derivation->from, derivation->from_id,
                                                  environment->seccomp[0], derivation->labels);
    CLEANUP_FREE char *body = config ? json_dumps(config, JSON_COMPACT) : NULL;
    if (!body || !choose_name(derivation)) {
        fail_without_memory(derivation);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/create?name=%s", derivation->api,
                   derivation->name);
    derivation->creating = true;
    ask(derivation, &(struct engine_request){.method = "POST",
                                             .path = path,
                                             .body = body,
                                             .timeout_ms = MAKING_TIME_MS,
                                             .done = take_created});
}

static engine_done take_candidate;

static void look_at_next_candidate(struct derivation *derivation)
{
    if (derivation->candidate < derivation->candidate_count)
        inspect(derivation, derivation->candidates[derivation->candidate], take_candidate);
    else
        create(derivation);
}

/* One that is not what it has to be is left alone, like one that has gone meanwhile. */
static void take_candidate(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    char field[100];
    derivation->call = NULL;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        derivation_fail(derivation, &answer->fault);
        return;
    }
    json_auto_t *image =
        answer->status == 200 ? json_loadb(answer->body, answer->length, 0, NULL) : NULL;
    const char *id = derivation->candidates[derivation->candidate++];
    const struct derived_identity identity = identity_of(derivation);
    if (image && is_layer_known(derivation, derived_image_layer(image)) &&
        derived_image_attest(derivation->from, &identity, image, field, sizeof(field)))
        conclude(derivation, id, NULL);
    else
        look_at_next_candidate(derivation);
}

static void take_list(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    size_t i;
    const json_t *entry;
    const struct derived_identity identity = identity_of(derivation);
    derivation->call = NULL;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        derivation_fail(derivation, &answer->fault);
        return;
    }
    json_auto_t *list =
        answer->status == 200 ? json_loadb(answer->body, answer->length, 0, NULL) : NULL;
    json_array_foreach(list, i, entry)
    {
        const char *id = json_string_value(json_object_get(entry, "Id"));
        if (derivation->candidate_count < CANDIDATES_LIMIT && engine_image_id_is_good(id) &&
            derived_image_is_ours(entry) && derived_image_has_packages(entry, identity.packages))
            (void)snprintf(derivation->candidates[derivation->candidate_count++],
                           sizeof(derivation->candidates[0]), "%s", id);
    }
    look_at_next_candidate(derivation);
}

void derivation_list(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    bool of_packages = has_packages(derivation);
    (void)snprintf(path, sizeof(path), LIST_PATH, derivation->api, derivation->base_id,
                   derivation->guest->identity.digest, of_packages ? LIST_PACKAGES : "",
                   derivation->packages, of_packages ? LIST_END : "");
    ask(derivation,
        &(struct engine_request){
            .method = "GET", .path = path, .timeout_ms = ENGINE_TIME_MS, .done = take_list});
}

/* The image with the guest, which that with the packages is made from. */
static void take_from(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    derivation->call = NULL;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 404) {
        derivation_begin_anew(derivation);
        return;
    }
    derivation->from = take_answer(derivation, answer, 200, "describe");
    if (derivation->from)
        derivation_list(derivation);
}

void derivation_ask_for_parent(struct derivation *derivation)
{
    inspect(derivation, derivation->from_id, take_from);
}
