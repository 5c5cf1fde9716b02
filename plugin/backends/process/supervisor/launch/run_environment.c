/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what runs share: see run_environment.h. Runs in the supervisor. */
#include "backends/process/supervisor/launch/run_environment.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

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
    *reterr = (struct launch_failure){.layer = LAYER_USER_NAMESPACE,
                                      .error_number = errno,
                                      .step = "read the supervisor's namespaces"};
    return false;
}

static bool choose_host_ids(const struct run_environment *environment, uint32_t place,
                            const struct sandbox_template *template, struct launch *ret,
                            struct launch_failure *reterr)
{
    uint32_t base = template->outer_uid_base;
    uint32_t count = template->outer_uid_count;
    ret->outer_uid = geteuid();
    ret->outer_gid = getegid();
    if (ret->outer_uid != 0)
        return true;
    *reterr = (struct launch_failure){.layer = LAYER_USER_NAMESPACE,
                                      .error_number = EUSERS,
                                      .step = "no user id is left in the range of the description"};
    if (base == 0 || place >= count || count > UINT32_MAX - 1 - base)
        return false;
    if (!environment->host_ids.known) {
        reterr->error_number = EAGAIN;
        reterr->step = "read the user ids that the supervisor may assign";
        return false;
    }
    if (!host_ids_have(&environment->host_ids, base, count))
        return true;
    ret->outer_uid = base + (uint32_t)(((uint64_t)environment->first_outer_uid + place) % count);
    ret->outer_gid = ret->outer_uid;
    return true;
}

bool run_environment_take_place(struct run_environment *environment,
                                const struct sandbox_template *template, uint32_t *ret_place,
                                struct launch *ret, struct launch_failure *reterr)
{
    uint32_t place = 0;
    while (place < SANDBOXES_LIMIT && environment->places[place])
        place++;
    if (place == SANDBOXES_LIMIT) {
        *reterr = (struct launch_failure){
            .layer = LAYER_COUNT, .error_number = EAGAIN, .step = "too many sandboxes at once"};
        return false;
    }
    if (!choose_host_ids(environment, place, template, ret, reterr))
        return false;
    environment->places[place] = true;
    *ret_place = place;
    return true;
}

void run_environment_give_place(struct run_environment *environment, uint32_t place)
{
    environment->places[place] = false;
}
