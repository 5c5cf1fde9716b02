/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the resources that runs share: see run_environment.h. Runs in the supervisor. */
#include "backends/process/supervisor/launch/run_environment.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

int launch_fail(struct launch_failure *reterr, enum isolation_layer layer, int error_number,
                const char *step)
{
    *reterr = (struct launch_failure){.layer = layer, .error_number = error_number, .step = step};
    return -1;
}

/* Without filters every sandboxed run is refused by that layer, and without knowledge of the ids or
 * the namespaces by the user namespace; unconfined ones still run. */
bool run_environment_open(struct run_environment *ret)
{
    if (getrandom(&ret->first_outer_uid, sizeof(ret->first_outer_uid), 0) < 0)
        return false;
    (void)seccomp_filters_make(&ret->filters);
    cgroup_base_find(&ret->cgroups);
    host_ids_find(&ret->host_ids);
    ret->namespaces_known = namespaces_read(&ret->namespaces);
    return true;
}

bool run_environment_complete(struct run_environment *environment, struct launch_failure *reterr)
{
    if (environment->filters.list.count == 0)
        (void)seccomp_filters_make(&environment->filters);
    if (!environment->host_ids.known)
        host_ids_find(&environment->host_ids);
    if (!environment->namespaces_known)
        environment->namespaces_known = namespaces_read(&environment->namespaces);
    if (environment->namespaces_known)
        return true;
    (void)launch_fail(reterr, LAYER_USER_NAMESPACE, errno, "read the supervisor's namespaces");
    return false;
}

static bool choose_user(const struct run_environment *environment,
                        const struct sandbox_template *template, struct sandbox_place *place,
                        struct launch_failure *reterr)
{
    uint32_t base = template->outer_uid_base;
    uint32_t count = template->outer_uid_count;
    place->uid = geteuid();
    place->gid = getegid();
    if (place->uid != 0 || template->isolation == RUN_ISOLATION_UNPRIVILEGED)
        return true;
    (void)launch_fail(reterr, LAYER_USER_NAMESPACE, EUSERS,
                      "no user id is left in the range of the description");
    if (base == 0 || place->number >= count || count > UINT32_MAX - 1 - base)
        return false;
    (void)launch_fail(reterr, LAYER_USER_NAMESPACE, EAGAIN,
                      "read the user ids that the supervisor may assign");
    if (!environment->host_ids.known)
        return false;
    if (!host_ids_have(&environment->host_ids, base, count))
        return true;
    place->uid =
        base + (uint32_t)(((uint64_t)environment->first_outer_uid + place->number) % count);
    place->gid = place->uid;
    return true;
}

bool run_environment_take_place(struct run_environment *environment,
                                const struct sandbox_template *template, struct sandbox_place *ret,
                                struct launch_failure *reterr)
{
    struct sandbox_place place = {.number = 0};
    while (place.number < SANDBOXES_LIMIT && environment->places[place.number])
        place.number++;
    (void)launch_fail(reterr, LAYER_COUNT, EAGAIN, "too many sandboxes at once");
    if (place.number == SANDBOXES_LIMIT || !choose_user(environment, template, &place, reterr))
        return false;
    environment->places[place.number] = true;
    *ret = place;
    return true;
}

void run_environment_give_place(struct run_environment *environment, uint32_t number)
{
    environment->places[number] = false;
}
