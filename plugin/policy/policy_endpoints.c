/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's section "endpoints": what programs may reach, by which requests, and who
 * authenticates how. The file of a "ca_file" is read here; all else is pure code. Runs in the
 * gateway on the calling thread.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "base/trusted_file.h"
#include "policy/endpoint_address.h"
#include "policy/endpoint_http.h"
#include "policy/policy_parse.h"
#include "vocabulary/endpoint.h"
#include "vocabulary/environment.h"
#include "json/canonical.h"

#define DESCRIPTION_LIMIT 512 /* bytes; a model reads it */
#define VALUE_LIMIT       1024
#define SUFFIX_LIMIT      256
#define VARIABLES_LIMIT   16
#define PRESETS_MOST      16
#define REQUESTS_LIMIT    1000000
#define BODY_LIMIT        (INT64_C(16) << 30)
#define OWN_VARIABLES     "CODE_EXECUTE_"

#define AT(member) .offset = offsetof(struct policy_endpoint, member)

static bool judge(const struct json_place *place, const char *why_not)
{
    return !why_not || json_place_refuse(place, "%s", why_not);
}

static bool check_method(const struct json_place *place, const char *method)
{
    return judge(place, endpoint_method_check(method));
}

static bool check_path(const struct json_place *place, const char *pattern)
{
    return judge(place, endpoint_path_check(pattern));
}

static bool check_header(const struct json_place *place, const char *name)
{
    return judge(place, endpoint_header_check(name));
}

bool policy_check_endpoint_name(const struct json_place *place, const char *name)
{
    return endpoint_name_valid(name) ||
           json_place_refuse(place,
                             "must be an endpoint's name: a-z, 0-9 and \"-\", a letter first, at "
                             "most %d bytes",
                             ENDPOINT_NAME_LIMIT);
}

/* Lists with a limit of their own, of texts that have one in their check. */
static bool read_list(const struct json_place *place, json_t *value, size_t most,
                      json_text_check *check, char ***ret)
{
    return json_read_array(place, value, 0, most) &&
           policy_read_strings(place, value, 0, check, ret);
}

static bool read_methods(const struct json_place *place, json_t *value, void *object)
{
    struct egress_rule *rule = object;
    return read_list(place, value, EGRESS_METHODS_LIMIT, check_method, &rule->methods);
}

static bool read_paths(const struct json_place *place, json_t *value, void *object)
{
    struct egress_rule *rule = object;
    return read_list(place, value, EGRESS_PATHS_LIMIT, check_path, &rule->paths);
}

static const struct json_member rule_members[] = {
    {"methods", &policy_strings, offsetof(struct egress_rule, methods), .read = read_methods},
    {"paths", &policy_strings, offsetof(struct egress_rule, paths), .read = read_paths},
    {0},
};

static const struct json_items rules = {
    .size = sizeof(struct egress_rule),
    .count = offsetof(struct policy_endpoint, order.rule_count),
    .members = rule_members,
};

static const struct json_member limit_members[] = {
    {"requests", &member_uint64, AT(order.limits.requests), 1, REQUESTS_LIMIT, .optional = true},
    {"request_bytes", &member_uint64, AT(order.limits.request_bytes), 0, BODY_LIMIT,
     .optional = true},
    {"response_bytes", &member_uint64, AT(order.limits.response_bytes), 1, BODY_LIMIT,
     .optional = true},
    {"timeout_ms", &member_uint64, AT(order.limits.timeout_ms), 1, EGRESS_TIMEOUT_LIMIT,
     .optional = true},
    {"in_flight", &member_uint64, AT(order.limits.in_flight), 1, EGRESS_IN_FLIGHT_LIMIT,
     .optional = true},
    {0},
};

static bool read_headers(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    const char *name;
    json_t *text;
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > EGRESS_HEADERS_LIMIT)
        return json_place_refuse(place, "must have at most %d members", EGRESS_HEADERS_LIMIT);
    char **end = endpoint->order.headers = string_list_new(json_object_size(value));
    if (!end)
        return json_place_out_of_memory(place);
    json_object_foreach(value, name, text)
    {
        char line[ENDPOINT_HEADER_LIMIT + VALUE_LIMIT + 4];
        struct json_place member = json_place_named(place, name);
        const char *content;
        if (!check_header(&member, name) ||
            !json_read_string(&member, text, 0, VALUE_LIMIT, &content) ||
            !judge(&member, endpoint_header_value_check(content)))
            return false;
        (void)snprintf(line, sizeof(line), "%s: %s", name, content);
        if (!json_copy_text(&member, line, end++))
            return false;
    }
    return true;
}

static bool read_request_headers(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    return read_list(place, value, EGRESS_HEADERS_LIMIT, check_header,
                     &endpoint->order.request_headers);
}

static bool read_response_headers(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    return read_list(place, value, EGRESS_HEADERS_LIMIT, check_header,
                     &endpoint->order.response_headers);
}

static bool check_suffix(const struct json_place *place, const char *suffix)
{
    struct endpoint_address unused;
    char url[sizeof("https://a.a") + SUFFIX_LIMIT];
    if (suffix[0] != '\0' && suffix[0] != '/')
        return json_place_refuse(place, "must be \"\", or begin with \"/\"");
    (void)snprintf(url, sizeof(url), "https://a.a%s", suffix);
    return judge(place, endpoint_url_read(url, &unused));
}

static bool read_variables(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    if (!environment_read(place, value, VARIABLES_LIMIT, SUFFIX_LIMIT, &endpoint->variables))
        return false;
    for (char **variable = endpoint->variables; *variable; variable++) {
        char *value_of = strchr(*variable, '=');
        struct json_place member =
            json_place_member(place, *variable, (size_t)(value_of - *variable));
        if (strncmp(*variable, OWN_VARIABLES, strlen(OWN_VARIABLES)) == 0)
            return json_place_refuse(&member, "variables of this name are ours");
        if (!check_suffix(&member, value_of + 1))
            return false;
    }
    return true;
}

static bool read_private(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    bool is_private;
    if (!json_read_boolean(place, value, &is_private))
        return false;
    endpoint->order.private_addresses = is_private;
    return true;
}

static bool read_approval(const struct json_place *place, json_t *value, void *object)
{
    static const char *const names[] = {"never", "ask", NULL};
    struct policy_endpoint *endpoint = object;
    const char *name;
    unsigned choice;
    if (!json_read_string(place, value, 1, SIZE_MAX, &name) ||
        !json_choose(place, names, name, &choice))
        return false;
    endpoint->ask = choice == 1;
    return true;
}

/* Is it PEM, as far as anybody can tell without a library for it? */
static bool has_certificate(const char *bytes, size_t length)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    return memmem(bytes, length, begin, strlen(begin)) && !memchr(bytes, '\0', length);
}

static bool load_ca(const struct json_place *place, const char *path, struct wire_bytes *ret)
{
    struct error error = {0};
    CLEANUP_CLOSE int fd = trusted_file_open("ca_file", path, place->code, &error);
    if (fd < 0) {
        (void)json_place_refuse(place, "%s", error.message);
        error_set_hint(place->error, "%s", error.hint);
        return false;
    }
    CLEANUP_FREE char *bytes = malloc(EGRESS_CA_LIMIT + 1);
    if (!bytes)
        return json_place_out_of_memory(place);
    ssize_t length = trusted_file_read(fd, bytes, EGRESS_CA_LIMIT + 1);
    if (length < 0)
        return json_place_refuse(place, "the file cannot be read");
    if ((size_t)length > EGRESS_CA_LIMIT)
        return json_place_refuse(place, "the file is longer than %u bytes", EGRESS_CA_LIMIT);
    if (!has_certificate(bytes, (size_t)length))
        return json_place_refuse(place, "the file has no certificate in PEM");
    *ret = (struct wire_bytes){(unsigned char *)TAKE_POINTER(bytes), (size_t)length};
    return true;
}

static bool read_ca(const struct json_place *place, json_t *value, const struct json_member *member,
                    void *target)
{
    const char *path;
    (void)member;
    return json_read_string(place, value, 1, PATH_LIMIT, &path) &&
           json_check_absolute_path(place, path) && load_ca(place, path, target);
}

static void clear_bytes(const struct json_member *member, void *target)
{
    struct wire_bytes *bytes = target;
    (void)member;
    free(bytes->bytes);
    *bytes = (struct wire_bytes){0};
}

static const struct json_kind ca_bytes = {.read = read_ca, .clear = clear_bytes};

static bool read_preset(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    const char *names[PRESETS_MOST + 1] = {NULL};
    const char *name;
    unsigned choice;
    size_t count;
    const struct endpoint_preset *presets = endpoint_presets_all(&count);
    assert(count <= PRESETS_MOST);
    for (size_t i = 0; i < count; i++)
        names[i] = presets[i].name;
    if (!json_read_string(place, value, 1, SIZE_MAX, &name) ||
        !json_choose(place, names, name, &choice))
        return false;
    endpoint->preset = &presets[choice];
    return true;
}

static bool take_address(const struct json_place *place, const char *why_not,
                         const struct endpoint_address *address, struct policy_endpoint *endpoint)
{
    if (!judge(place, why_not))
        return false;
    endpoint->is_plain = address->is_plain;
    endpoint->is_local_only = address->is_local_only;
    return json_copy_text(place, address->url, &endpoint->order.base_url);
}

static bool read_base_url(const struct json_place *place, json_t *value, void *object)
{
    struct endpoint_address address = {.url = ""};
    const char *text;
    return json_read_string(place, value, 1, POLICY_STRING_LIMIT, &text) &&
           take_address(place, endpoint_url_read(text, &address), &address, object);
}

static bool read_tunnel(const struct json_place *place, json_t *value, void *object)
{
    struct policy_endpoint *endpoint = object;
    struct endpoint_address address = {.url = ""};
    const char *text;
    endpoint->order.tunnel = 1;
    return json_read_string(place, value, 1, POLICY_STRING_LIMIT, &text) &&
           take_address(place, endpoint_tunnel_read(text, &address), &address, endpoint);
}

/* Of both kinds of endpoints. */
#define DESCRIPTION                                                         \
    {                                                                       \
        "description", &member_text, AT(description), 0, DESCRIPTION_LIMIT, \
            .optional = true, .check = json_check_no_control                \
    }
#define LIMITS                                                               \
    {                                                                        \
        "limits", &member_object, .optional = true, .members = limit_members \
    }
#define PRIVATE                                           \
    {                                                     \
        "private", .optional = true, .read = read_private \
    }
#define APPROVAL                                            \
    {                                                       \
        "approval", .optional = true, .read = read_approval \
    }

static const struct json_member members[] = {
    {"base_url", &member_text, AT(order.base_url), .read = read_base_url},
    DESCRIPTION,
    {"allow", &member_list, AT(order.rules), 0, EGRESS_RULES_LIMIT, .items = &rules},
    {"auth", &member_object, .members = policy_endpoint_auth_members, .optional = true,
     .read = policy_read_endpoint_auth},
    {"headers", &policy_strings, AT(order.headers), .optional = true, .read = read_headers},
    {"request_headers", &policy_strings, AT(order.request_headers), .optional = true,
     .read = read_request_headers},
    {"response_headers", &policy_strings, AT(order.response_headers), .optional = true,
     .read = read_response_headers},
    LIMITS,
    PRIVATE,
    {"ca_file", &ca_bytes, AT(order.ca), .optional = true},
    {"variables", &policy_environment, AT(variables), .optional = true, .read = read_variables},
    {"preset", .optional = true, .read = read_preset},
    APPROVAL,
    {0},
};

/* Nobody sees what goes through, so nothing is said of it. */
static const struct json_member tunnel_members[] = {
    {"tunnel", &member_text, AT(order.base_url), .read = read_tunnel},
    DESCRIPTION,
    LIMITS,
    PRIVATE,
    APPROVAL,
    {0},
};

/* One member against another. */
static bool check_whole(const struct json_place *place, const struct policy_endpoint *endpoint)
{
    struct json_place url = json_place_named(place, endpoint->order.tunnel ? "tunnel" : "base_url");
    bool is_private = endpoint->order.private_addresses;
    if (endpoint->is_plain && endpoint->order.auth != EGRESS_AUTH_NONE)
        return json_place_refuse(&url, "a credential goes over https alone");
    if (endpoint->is_plain && !is_private)
        return json_place_refuse(&url, "http is for endpoints that are \"private\"");
    return !endpoint->is_local_only || is_private ||
           json_place_refuse(&url, "an address, or a name without a dot, is for endpoints that are "
                                   "\"private\"");
}

static bool fill_list(char ***list)
{
    if (!*list)
        *list = string_list_new(0);
    return *list;
}

static bool fill_text(char **text)
{
    if (!*text)
        *text = copy_bytes("", 0);
    return *text;
}

/* What is absent is empty, and never NULL. */
static bool complete(struct policy_endpoint *endpoint)
{
    struct egress_endpoint *order = &endpoint->order;
    const struct endpoint_preset *preset = endpoint->preset;
    const char *variable = preset ? preset->variable : NULL;
    return fill_text(&endpoint->description) && fill_text(&order->auth_name) &&
           fill_text(&order->auth_prefix) && fill_list(&order->request_headers) &&
           fill_list(&order->response_headers) && fill_list(&order->headers) &&
           fill_list(&endpoint->variables) &&
           (!variable || environment_has(endpoint->variables, variable) ||
            environment_add(&endpoint->variables, variable, preset->suffix,
                            strlen(preset->suffix)));
}

/* Of the definition as it is written, and of what its file of certificates has. */
static bool hash_definition(const json_t *value, struct policy_endpoint *endpoint)
{
    char ca[SHA256_HEX_LENGTH + 1] = "";
    if (endpoint->order.ca.bytes)
        sha256_hex(endpoint->order.ca.bytes, endpoint->order.ca.length, ca);
    json_auto_t *whole = json_pack("{s:s, s:O, s:s}", "ca_sha256", ca, "definition", value, "name",
                                   endpoint->order.name);
    return whole && canonical_sha256(whole, endpoint->sha256);
}

static bool read_endpoint(const struct json_place *place, json_t *value, void *item, void *object)
{
    struct policy_endpoint *endpoint = item;
    (void)object;
    endpoint->ask = true;
    endpoint->order.limits = (struct egress_limits){
        .requests = 100,
        .request_bytes = UINT64_C(1) << 20,
        .response_bytes = UINT64_C(16) << 20,
        .timeout_ms = 30000,
        .in_flight = 8,
    };
    bool is_tunnel = json_is_object(value) && json_object_get(value, "tunnel");
    if (!json_read_members(place, value, is_tunnel ? tunnel_members : members, endpoint) ||
        !check_whole(place, endpoint))
        return false;
    return (complete(endpoint) && hash_definition(value, endpoint)) ||
           json_place_out_of_memory(place);
}

const struct json_items policy_endpoints = {
    .size = sizeof(struct policy_endpoint),
    .count = offsetof(struct policy, endpoint_count),
    .name = offsetof(struct policy_endpoint, order.name),
    .check_name = policy_check_endpoint_name,
    .members = members,
    .read = read_endpoint,
};

const struct policy_endpoint *policy_find_endpoint(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->endpoint_count; i++)
        if (strcmp(policy->endpoints[i].order.name, name) == 0)
            return &policy->endpoints[i];
    return NULL;
}
