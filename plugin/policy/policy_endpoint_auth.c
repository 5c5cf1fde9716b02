/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member "auth" of an endpoint in the policy: how the broker authenticates, and with which
 * secret. Pure code; runs in the gateway on the calling thread.
 */
#include <string.h>

#include "policy/endpoint_http.h"
#include "policy/policy_parse.h"

#define USER_LIMIT   256
#define PREFIX_LIMIT 64

#define AT(member) .offset = offsetof(struct policy_endpoint, member)

static bool judge(const struct json_place *place, const char *why_not)
{
    return !why_not || json_place_refuse(place, "%s", why_not);
}

static bool check_auth_header(const struct json_place *place, const char *name)
{
    return judge(place, endpoint_auth_header_check(name));
}

static bool check_parameter(const struct json_place *place, const char *name)
{
    return judge(place, endpoint_parameter_check(name));
}

static bool check_printable(const struct json_place *place, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            return json_place_refuse(place, "must be printable ASCII");
    return true;
}

/* The first ":" ends it. */
static bool check_user(const struct json_place *place, const char *user)
{
    return check_printable(place, user) &&
           (!strchr(user, ':') || json_place_refuse(place, "must not have a \":\""));
}

static const char *const auth_types[] = {[EGRESS_AUTH_BEARER - 1] = "bearer",
                                         [EGRESS_AUTH_BASIC - 1] = "basic",
                                         [EGRESS_AUTH_HEADER - 1] = "header",
                                         [EGRESS_AUTH_QUERY - 1] = "query",
                                         NULL};

/* No type is none. */
static bool read_type(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    const char *name;
    unsigned choice;
    if (!json_read_string(place, value, 1, SIZE_MAX, &name) ||
        !json_choose(place, auth_types, name, &choice))
        return false;
    endpoint->order.auth = choice + 1;
    return true;
}

#define TYPE                      \
    {                             \
        "type", .read = read_type \
    }
#define SECRET                                                      \
    {                                                               \
        "secret", &member_text, AT(secret), 1, POLICY_STRING_LIMIT, \
            .check = policy_check_secret_name                       \
    }

static const struct json_member bearer_members[] = {TYPE, SECRET, {0}};

static const struct json_member basic_members[] = {
    TYPE,
    SECRET,
    {"user", &member_text, AT(order.auth_name), 0, USER_LIMIT, .check = check_user},
    {0},
};

const struct json_member policy_endpoint_auth_members[] = {
    TYPE,
    SECRET,
    {"name", &member_text, AT(order.auth_name), 1, ENDPOINT_HEADER_LIMIT,
     .check = check_auth_header},
    {"prefix", &member_text, AT(order.auth_prefix), 1, PREFIX_LIMIT, .optional = true,
     .check = check_printable},
    {0},
};

static const struct json_member query_members[] = {
    TYPE,
    SECRET,
    {"name", &member_text, AT(order.auth_name), 1, ENDPOINT_HEADER_LIMIT, .check = check_parameter},
    {0},
};

bool policy_read_endpoint_auth(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member type = TYPE;
    static const struct json_member *const of_types[] = {[EGRESS_AUTH_BEARER] = bearer_members,
                                                         [EGRESS_AUTH_BASIC] = basic_members,
                                                         [EGRESS_AUTH_HEADER] =
                                                             policy_endpoint_auth_members,
                                                         [EGRESS_AUTH_QUERY] = query_members};
    struct policy_endpoint *endpoint = object;
    return json_read_object(place, value) && json_read_member(place, value, &type, endpoint) &&
           json_read_members(place, value, of_types[endpoint->order.auth], endpoint);
}
