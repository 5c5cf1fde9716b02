/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the chain of requests for a derived image: see derivation.h. Runs in the docker backend. */
#include "backends/docker/image/derivation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "backends/docker/image/guest_file.h"
#include "base/cleanup.h"

#define PATH_LIMIT       512
#define NAME_LIMIT       64
#define CANDIDATES_LIMIT 4     /* images with our labels that are looked at */
#define MAKING_TIME_MS   60000 /* some storage drivers copy the whole image */
#define REMOVE_ATTEMPTS  5
#define LATEST_S         3600 /* no owner needs the container after that */

/* {"label":["code-execute.base=ID","code-execute.guest=DIGEST"]} */
#define LIST_PATH                                                                              \
    "/v1.%u/images/json?filters=%%7B%%22label%%22%%3A%%5B%%22" DERIVED_LABEL_BASE "%%3D%s%%22" \
    "%%2C%%22" DERIVED_LABEL_GUEST "%%3D%s%%22%%5D%%7D"

struct derivation {
    struct derivation *next;
    struct docker_environment *environment;
    struct engine *engine;
    struct engine_address address; /* where it began; the engine's may have changed since */
    unsigned int api;
    struct guest_file *guest;
    json_t *base;
    char base_id[IMAGE_ID_LIMIT + 1];
    char candidates[CANDIDATES_LIMIT][IMAGE_ID_LIMIT + 1];
    size_t candidate_count;
    size_t candidate;            /* the one that is looked at */
    char id[IMAGE_ID_LIMIT + 1]; /* of the image that was made; "": none yet */
    json_t *labels;              /* of the container's owner */
    char name[NAME_LIMIT];       /* of the container; "": none was asked for */
    unsigned int attempts;       /* at its removal */
    struct engine_call *call;    /* the request under way */
    struct engine_call *removal;
    bool creating; /* the answer to create is still to come */
    struct image_waiter *waiters;
    bool left; /* no other run joins it */
    bool over; /* but for the removal */
};

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
    if (id)
        image_store_keep(derivation->environment->images, derivation->engine, derivation->base_id,
                         id);
    answer_waiters(derivation, id, fault);
}

static void fail(struct derivation *derivation, const struct engine_fault *fault)
{
    conclude(derivation, NULL, fault);
}

static void fail_without_memory(struct derivation *derivation)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "make the image with the guest");
    fail(derivation, &fault);
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
                           long expected, const char *what)
{
    struct engine_fault fault;
    const char *name = derivation->engine->facts.name;
    json_t *json = engine_answer_take(answer, expected, name, false, what, &fault);
    if (json)
        return json;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status != expected)
        fault.problem = ENGINE_PROBLEM_NO_COMMIT;
    fail(derivation, &fault);
    return NULL;
}

static char *made_layer(const struct derivation *derivation)
{
    return derivation->guest->made_layers[derivation->engine - derivation->environment->engines];
}

static bool is_layer_known(const struct derivation *derivation, const char *layer)
{
    return derived_image_layer_is_known(&derivation->guest->identity, layer) ||
           (layer && layer[0] != '\0' && strcmp(made_layer(derivation), layer) == 0);
}

/* What the engine has just made of our archive has our guest in it, in whatever form it is. */
static void take_made_image(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault;
    char field[100];
    derivation->call = NULL;
    json_auto_t *image = take_answer(derivation, answer, 200, "describe the image with the guest");
    if (!image)
        return;
    if (!derived_image_attest(derivation->base, derivation->base_id,
                              derivation->guest->identity.digest, image, field, sizeof(field))) {
        engine_fault_set(&fault, ENGINE_PROBLEM_ALTERED,
                         "the image that docker made is not the one that was requested: %s differs",
                         field);
        fail(derivation, &fault);
        return;
    }
    const char *layer = derived_image_layer(image);
    (void)snprintf(made_layer(derivation), LAYER_DIGEST_LIMIT + 1, "%s", layer ? layer : "");
    conclude(derivation, derivation->id, NULL);
}

static void take_commit(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault;
    derivation->call = NULL;
    json_auto_t *made = take_answer(derivation, answer, 201, "commit the image with the guest");
    const char *id = json_string_value(json_object_get(made, "Id"));
    if (!made)
        return;
    if (!engine_image_id_is_good(id)) {
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT,
                         "docker did not report the id of the image with the guest");
        fail(derivation, &fault);
        return;
    }
    (void)snprintf(derivation->id, sizeof(derivation->id), "%s", id);
    inspect(derivation, derivation->id, take_made_image);
}

static void commit(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    json_auto_t *config =
        derived_image_config(derivation->base, derivation->base_id,
                             derivation->guest->identity.digest, derivation->labels);
    CLEANUP_FREE char *body = config ? json_dumps(config, JSON_COMPACT) : NULL;
    if (!body) {
        fail_without_memory(derivation);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/commit?container=%s&pause=0", derivation->api,
                   derivation->name);
    ask(derivation, &(struct engine_request){.method = "POST",
                                             .path = path,
                                             .body = body,
                                             .timeout_ms = MAKING_TIME_MS,
                                             .done = take_commit});
}

static void take_archive_answer(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    struct engine_fault fault = answer->fault;
    derivation->call = NULL;
    if (fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200) {
        commit(derivation);
        return;
    }
    if (fault.problem == ENGINE_PROBLEM_NONE) {
        engine_answer_refusal(answer, derivation->engine->facts.name, false, "take the guest",
                              &fault);
        fault.problem = ENGINE_PROBLEM_NO_COMMIT;
    }
    fail(derivation, &fault);
}

static void send_archive(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/archive?path=%%2F", derivation->api,
                   derivation->name);
    ask(derivation, &(struct engine_request){.method = "PUT",
                                             .path = path,
                                             .archive = derivation->guest->archive,
                                             .archive_length = derivation->guest->length,
                                             .timeout_ms = ENGINE_TIME_MS,
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
    json_auto_t *made = engine_answer_take(answer, 201, derivation->engine->facts.name, true,
                                           "create the container for the guest", &fault);
    if (made)
        send_archive(derivation);
    else
        fail(derivation, &fault);
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
    json_auto_t *config = derived_image_container(derivation->base, derivation->base_id,
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
        fail(derivation, &answer->fault);
        return;
    }
    json_auto_t *image =
        answer->status == 200 ? json_loadb(answer->body, answer->length, 0, NULL) : NULL;
    const char *id = derivation->candidates[derivation->candidate++];
    if (image && is_layer_known(derivation, derived_image_layer(image)) &&
        derived_image_attest(derivation->base, derivation->base_id,
                             derivation->guest->identity.digest, image, field, sizeof(field)))
        conclude(derivation, id, NULL);
    else
        look_at_next_candidate(derivation);
}

static void take_list(void *user, const struct engine_answer *answer)
{
    struct derivation *derivation = user;
    size_t i;
    const json_t *entry;
    derivation->call = NULL;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        fail(derivation, &answer->fault);
        return;
    }
    json_auto_t *list =
        answer->status == 200 ? json_loadb(answer->body, answer->length, 0, NULL) : NULL;
    json_array_foreach(list, i, entry)
    {
        const char *id = json_string_value(json_object_get(entry, "Id"));
        if (derivation->candidate_count < CANDIDATES_LIMIT && engine_image_id_is_good(id) &&
            derived_image_is_ours(entry))
            (void)snprintf(derivation->candidates[derivation->candidate_count++],
                           sizeof(derivation->candidates[0]), "%s", id);
    }
    look_at_next_candidate(derivation);
}

static void list(struct derivation *derivation)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), LIST_PATH, derivation->api, derivation->base_id,
                   derivation->guest->identity.digest);
    ask(derivation,
        &(struct engine_request){
            .method = "GET", .path = path, .timeout_ms = ENGINE_TIME_MS, .done = take_list});
}

static struct derivation *find(const struct docker_environment *environment,
                               const struct engine *engine, const char *base_id)
{
    struct derivation *derivation = environment->images->derivations;
    while (derivation && (derivation->over || derivation->left || derivation->engine != engine ||
                          strcmp(derivation->base_id, base_id) != 0))
        derivation = derivation->next;
    return derivation;
}

static struct derivation *begin(struct docker_environment *environment, struct engine *engine,
                                json_t *base, const char *base_id, struct guest_file *guest)
{
    struct derivation *derivation = calloc(1, sizeof(*derivation));
    if (!derivation)
        return NULL;
    derivation->environment = environment;
    derivation->engine = engine;
    derivation->address = engine->address;
    derivation->api = engine->facts.api;
    derivation->guest = guest;
    derivation->base = json_incref(base);
    (void)snprintf(derivation->base_id, sizeof(derivation->base_id), "%s", base_id);
    derivation->next = environment->images->derivations;
    environment->images->derivations = derivation;
    return derivation;
}

static void add_waiter(struct derivation *derivation, struct image_waiter *waiter)
{
    waiter->derivation = derivation;
    waiter->next = derivation->waiters;
    derivation->waiters = waiter;
}

void derivation_join(struct docker_environment *environment, struct engine *engine, json_t *base,
                     const char *base_id, struct image_waiter *waiter)
{
    struct engine_fault fault;
    struct derivation *derivation = find(environment, engine, base_id);
    if (derivation) {
        add_waiter(derivation, waiter);
        return;
    }
    const char *architecture = json_string_value(json_object_get(base, "Architecture"));
    struct guest_file *guest = image_store_guest(environment->images, architecture, &fault);
    if (!guest) {
        waiter->done(waiter, NULL, &fault);
        return;
    }
    derivation = begin(environment, engine, base, base_id, guest);
    if (!derivation) {
        engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "make the image with the guest");
        waiter->done(waiter, NULL, &fault);
        return;
    }
    add_waiter(derivation, waiter);
    list(derivation);
}

void image_waiter_leave(struct image_waiter *waiter)
{
    if (!waiter->derivation)
        return;
    struct image_waiter **place = &waiter->derivation->waiters;
    while (*place != waiter)
        place = &(*place)->next;
    *place = waiter->next;
    waiter->derivation = NULL;
}

static void free_derivation(struct derivation *derivation)
{
    engine_call_cancel(derivation->call);
    engine_call_cancel(derivation->removal);
    json_decref(derivation->base);
    json_decref(derivation->labels);
    free(derivation);
}

void image_store_handle(struct docker_environment *environment)
{
    for (struct derivation **place = &environment->images->derivations; *place;) {
        struct derivation *derivation = *place;
        if (!derivation->over || derivation->creating || derivation->removal) {
            place = &derivation->next;
            continue;
        }
        *place = derivation->next;
        free_derivation(derivation);
    }
}

void derivation_leave_all(struct image_store *store, const struct engine *engine)
{
    for (struct derivation *derivation = store->derivations; derivation;
         derivation = derivation->next)
        if (derivation->engine == engine)
            derivation->left = true;
}

void derivation_free_all(struct image_store *store)
{
    while (store->derivations) {
        struct derivation *derivation = store->derivations;
        store->derivations = derivation->next;
        free_derivation(derivation);
    }
}

void image_store_close(struct docker_environment *environment)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "the backend ends");
    for (struct derivation *derivation = environment->images->derivations; derivation;
         derivation = derivation->next) {
        if (!derivation->creating)
            engine_call_cancel(TAKE_POINTER(derivation->call));
        fail(derivation, &fault);
    }
}

bool image_store_is_busy(const struct docker_environment *environment)
{
    return environment->images->derivations != NULL;
}
