/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes into a run and comes out of it beside text: the policy's sections "files" and
 * "results", and a narrowing's, whose members may each be absent. Both are read by one table, and
 * compared and lowered by walking it. Pure code, any thread.
 */
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_parse.h"
#include "request/request.h"

#define FILES_IN_BYTES_LIMIT  (INT64_C(4) << 30) /* bytes */
#define FILES_OUT_LIMIT       1000
#define FILES_OUT_BYTES_LIMIT (INT64_C(1) << 30)
#define FILES_INLINE_LIMIT    (INT64_C(8) << 20) /* the result is one text */
#define RESULT_ITEMS_LIMIT    1024
#define RESULT_BYTES_LIMIT    (INT64_C(64) << 20)

/* Objects have no offset: that of a number or a flag is in struct policy_transfers. */
#define AT(member) .offset = offsetof(struct policy_transfers, member)

static const struct json_member files_in[] = {
    {"max_files", &member_uint64, AT(files_in.max_files), 0, REQUEST_FILES_LIMIT},
    {"total_bytes", &member_uint64, AT(files_in.total_bytes), 0, FILES_IN_BYTES_LIMIT},
    {0},
};

static const struct json_member files_out[] = {
    {"max_files", &member_uint64, AT(files_out.max_files), 0, FILES_OUT_LIMIT},
    {"file_bytes", &member_uint64, AT(files_out.file_bytes), 0, FILES_OUT_BYTES_LIMIT},
    {"total_bytes", &member_uint64, AT(files_out.total_bytes), 0, FILES_OUT_BYTES_LIMIT},
    {"inline_bytes", &member_uint64, AT(files_out.inline_bytes), 0, FILES_INLINE_LIMIT},
    {"binary_with_secrets", &member_boolean, AT(files_out.binary_with_secrets)},
    {0},
};

const struct json_member policy_files_members[] = {
    {"in", &member_object, .members = files_in},
    {"out", &member_object, .members = files_out},
    {0},
};

const struct json_member policy_results_members[] = {
    {"max_items", &member_uint64, AT(results.max_items), 0, RESULT_ITEMS_LIMIT},
    {"text_bytes", &member_uint64, AT(results.text_bytes), 1, RESULT_BYTES_LIMIT},
    {"image_bytes", &member_uint64, AT(results.image_bytes), 1, RESULT_BYTES_LIMIT},
    {"total_bytes", &member_uint64, AT(results.total_bytes), 1, RESULT_BYTES_LIMIT},
    {"images_with_secrets", &member_boolean, AT(results.images_with_secrets)},
    {0},
};

static const struct json_member sections[] = {
    {"files", &member_object, .members = policy_files_members},
    {"results", &member_object, .members = policy_results_members},
    {0},
};

#define MEMBERS_MOST 8u /* of one object, with its end */
static_assert(COUNT_OF(files_out) <= MEMBERS_MOST &&
                  COUNT_OF(policy_results_members) <= MEMBERS_MOST &&
                  COUNT_OF(files_in) <= MEMBERS_MOST &&
                  COUNT_OF(policy_files_members) <= MEMBERS_MOST,
              "MEMBERS_MOST");

/* As member_object, but each member may be absent, also of the objects in it. */
static bool read_ceilings(const struct json_place *place, json_t *value,
                          const struct json_member *member, void *target)
{
    struct json_member members[MEMBERS_MOST] = {{0}};
    for (size_t i = 0; member->members[i].name; i++) {
        members[i] = member->members[i];
        members[i].optional = true;
        if (members[i].members)
            members[i].kind = member->kind;
    }
    return json_read_members(place, value, members, target);
}

const struct json_kind policy_transfer_ceilings = {.read = read_ceilings};

static void *place_in(struct policy_transfers *transfers, const struct json_member *member)
{
    return (char *)transfers + member->offset;
}

static const void *place_of(const struct policy_transfers *transfers,
                            const struct json_member *member)
{
    return (const char *)transfers + member->offset;
}

static void open_members(const struct json_member *members, struct policy_transfers *ret)
{
    for (; members->name; members++) {
        if (members->members)
            open_members(members->members, ret);
        else if (members->kind == &member_boolean)
            *(bool *)place_in(ret, members) = true;
        else
            *(uint64_t *)place_in(ret, members) = UINT64_MAX;
    }
}

void policy_open_transfers(struct policy_transfers *ret)
{
    open_members(sections, ret);
}

static bool check_member(const struct json_place *place, const struct json_member *member,
                         const struct policy_transfers *own,
                         const struct policy_transfers *ceilings)
{
    const void *of_policy = place_of(own, member);
    const void *ceiling = place_of(ceilings, member);
    if (member->kind == &member_boolean)
        return !*(const bool *)ceiling || *(const bool *)of_policy ||
               json_place_refuse(place, "the policy says false");
    uint64_t most = *(const uint64_t *)of_policy;
    return *(const uint64_t *)ceiling <= most ||
           json_place_refuse(place, "is more than the policy's %llu", (unsigned long long)most);
}

/* Only what the narrowing itself says: the value of what it leaves open is above any policy's. */
static bool check_members(const struct json_place *place, const json_t *value,
                          const struct json_member *members, const struct policy_transfers *own,
                          const struct policy_transfers *ceilings)
{
    for (; members->name; members++) {
        struct json_place inner = json_place_named(place, members->name);
        const json_t *said = json_object_get(value, members->name);
        bool taken = !said || (members->members
                                   ? check_members(&inner, said, members->members, own, ceilings)
                                   : check_member(&inner, members, own, ceilings));
        if (!taken)
            return false;
    }
    return true;
}

bool policy_check_transfers(const struct json_place *place, const json_t *narrowing,
                            const struct policy_transfers *own,
                            const struct policy_transfers *ceilings)
{
    return check_members(place, narrowing, sections, own, ceilings);
}

static void lower_members(const struct json_member *members, struct policy_transfers *lowered,
                          const struct policy_transfers *ceilings)
{
    for (; members->name; members++) {
        void *here = place_in(lowered, members);
        const void *ceiling = place_of(ceilings, members);
        if (members->members)
            lower_members(members->members, lowered, ceilings);
        else if (members->kind == &member_boolean)
            *(bool *)here = *(bool *)here && *(const bool *)ceiling;
        else if (*(const uint64_t *)ceiling < *(uint64_t *)here)
            *(uint64_t *)here = *(const uint64_t *)ceiling;
    }
}

void policy_lower_transfers(struct policy_transfers *lowered,
                            const struct policy_transfers *ceilings)
{
    lower_members(sections, lowered, ceilings);
}
