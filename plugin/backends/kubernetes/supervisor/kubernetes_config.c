/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the terms of pods: of a run's own, and of one that waits for a run. Runs in the kubernetes
 * backend. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "backends/guest_runs/container/run_message.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"

#define LONGEST_LIFE_MS (UINT64_C(7) * 24 * 3600 * 1000)
#define START_LIMIT_S   (POD_START_LIMIT_US / 1000000)
/* A claim can only shorten a pod's life. So those that wait are made for a life in whole hours, and
 * runs of somewhat different times can use each other's. */
#define LIFE_STEP_S UINT64_C(3600)
/* The guest, what of a network it leaves to programs, and the limits of their processes. */
#define OWN_ARGUMENTS (2 + GUEST_DISTANT_ARGUMENTS)

static uint64_t at_most(uint64_t time_ms)
{
    return time_ms < LONGEST_LIFE_MS ? time_ms : LONGEST_LIFE_MS;
}

uint64_t kubernetes_config_life_s(const struct run_description *description)
{
    uint64_t wall_ms = description->session.idle_ms > 0 ? description->session.age_ms
                                                        : description->limits.wall_ms;
    uint64_t life_ms = wall_ms > 0 ? at_most(wall_ms) : LONGEST_LIFE_MS; /* 0 is no limit */
    return (life_ms + at_most(description->tools_wait_ms) + 999) / 1000;
}

bool kubernetes_config_name(char *ret, size_t size)
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    (void)snprintf(ret, size, CONTAINER_NAME_PREFIX "%016" PRIx64 "%016" PRIx64, random[0],
                   random[1]);
    return true;
}

/* With the limits that a pod has not. interpreter: borrowed; NULL: the guest starts none. */
static json_t *guest_command(const struct run_description *description, json_t *interpreter)
{
    const struct run_limits *limits = &description->limits;
    uint64_t seconds = limits->cpu_ms / 1000 + (limits->cpu_ms % 1000 != 0);
    json_auto_t *command = json_pack(
        "[s, s, s, o, o]", GUEST_PATH,
        description->endpoints ? GUEST_WITH_ENDPOINTS : GUEST_WITHOUT_NETWORK, GUEST_DISTANT,
        json_sprintf("%" PRIu64, limits->open_files), json_sprintf("%" PRIu64, seconds));
    if (!command || (interpreter && json_array_extend(command, interpreter) != 0))
        return NULL;
    return TAKE_POINTER(command);
}

static struct pod_choices choices_of(struct run *run)
{
    const struct kubernetes_options *options = &kubernetes_run(run)->options;
    bool is_claimed = options->warm_pool[0] != '\0';
    return (struct pod_choices){
        .runtime_class = options->runtime_class,
        .service_account = options->service_account,
        .user_namespace = options->user_namespace,
        .pull_secret = is_claimed ? "" : options->pull_secret, /* in a template, the operator's */
    };
}

json_t *kubernetes_config_for_run(struct run *run, const char *name, json_t *marks,
                                  uint64_t deadline_s)
{
    const struct run_description *description = &run->description;
    const struct pod_choices choices = choices_of(run);
    json_auto_t *command = guest_command(description, NULL);
    bool is_claimed = kubernetes_run(run)->options.warm_pool[0] != '\0';
    const struct pod_terms terms = {
        .image = description->image.name,
        .name = name,
        .owner = kubernetes_environment(run->environment)->owner_name,
        .marks = marks,
        .deadline_s = is_claimed ? 0 : deadline_s,
        .command = command,
    };
    return command ? pod_config_for_run(description, &choices, &terms) : NULL;
}

json_t *kubernetes_config_template(struct run *run)
{
    const struct run_description *description = &run->description;
    const struct pod_choices choices = choices_of(run);
    uint64_t life_s = kubernetes_config_life_s(description);
    json_auto_t *interpreter = waiting_interpreter_arguments(description);
    json_auto_t *command = guest_command(description, interpreter);
    json_auto_t *none = json_object();
    const struct pod_terms terms = {
        .image = description->image.name,
        .name = "",
        .owner = "",
        .marks = none,
        .deadline_s = (life_s + LIFE_STEP_S - 1) / LIFE_STEP_S * LIFE_STEP_S,
        .waits = true,
        .command = command,
    };
    return command && none ? pod_config_template(description, &choices, &terms) : NULL;
}

json_t *kubernetes_config_waiting(const struct kubernetes_environment *environment,
                                  json_t *template, uint64_t waiting_s)
{
    const json_t *spec = json_object_get(template, "spec");
    const json_t *life_s = json_object_get(spec, "activeDeadlineSeconds");
    uint64_t deadline_s = (uint64_t)json_integer_value(life_s) + waiting_s + START_LIMIT_S +
                          UINT64_C(2) * POD_MARGIN_S; /* the claim's own, and its way */
    char name[CONTAINER_NAME_LENGTH + 1];
    json_auto_t *marks =
        owner_labels(&environment->owner, POD_WAITING, (int64_t)time(NULL) + (int64_t)deadline_s);
    const struct pod_terms terms = {
        .name = name,
        .owner = environment->owner_name,
        .marks = marks,
        .deadline_s = deadline_s,
        .waits = true,
    };
    return marks && kubernetes_config_name(name, sizeof(name))
               ? pod_config_waiting(template, &terms)
               : NULL;
}

enum run_interpreter kubernetes_config_interpreter(const json_t *template)
{
    const json_t *containers = json_object_get(json_object_get(template, "spec"), "containers");
    const json_t *command = json_object_get(json_array_get(containers, 0), "command");
    return json_array_size(command) > OWN_ARGUMENTS ? RUN_INTERPRETER_PYTHON : RUN_INTERPRETER_NONE;
}
