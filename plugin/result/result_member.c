/* SPDX-License-Identifier: Apache-2.0 */
/* The walks over the table of the result's members. Pure code; runs in the gateway on any thread.
 */
#include "result/result_member.h"

#include "base/cleanup.h"

static const char *schema_type(enum result_type type)
{
    switch (type) {
    case RESULT_STRING:
        return "string";
    case RESULT_INTEGER:
        return "integer";
    case RESULT_BOOLEAN:
        return "boolean";
    case RESULT_STRINGS:
    case RESULT_OPEN_ARRAY:
        return "array";
    case RESULT_INTEGER_MAP:
    case RESULT_OBJECT:
    case RESULT_OPEN:
        break;
    }
    return "object";
}

static json_t *values_schema(const struct result_member *member)
{
    json_auto_t *values = json_array();
    for (size_t i = 0; member->value_at(i); i++) {
        if (json_array_append_new(values, json_string(member->value_at(i))) < 0)
            return NULL;
    }
    if (member->nullable && json_array_append_new(values, json_null()) < 0)
        return NULL;
    return TAKE_POINTER(values);
}

static json_t *members_schema(const struct result_member *members);

/* The parts of a schema beside the type. */
static bool add_details(json_t *schema, const struct result_member *member)
{
    if (member->value_at)
        return json_object_set_new(schema, "enum", values_schema(member)) == 0;
    if (member->type == RESULT_STRINGS)
        return json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string")) == 0;
    if (member->type == RESULT_OPEN_ARRAY)
        return json_object_set_new(schema, "items", json_pack("{s:s}", "type", "object")) == 0;
    if (member->type == RESULT_INTEGER_MAP)
        return json_object_set_new(schema, "additionalProperties",
                                   json_pack("{s:s}", "type", "integer")) == 0;
    if (member->type == RESULT_OBJECT) {
        json_auto_t *inner = members_schema(member->members);
        return inner && json_object_update(schema, inner) == 0;
    }
    return true;
}

static json_t *member_schema(const struct result_member *member)
{
    const char *type = schema_type(member->type);
    json_auto_t *schema = json_object();
    json_t *types = member->nullable ? json_pack("[ss]", type, "null") : json_string(type);
    if (json_object_set_new(schema, "type", types) < 0 ||
        json_object_set_new(schema, "description", json_string(member->description)) < 0 ||
        !add_details(schema, member))
        return NULL;
    return TAKE_POINTER(schema);
}

/* The part of an object's schema that its members make. */
static json_t *members_schema(const struct result_member *members)
{
    json_auto_t *properties = json_object();
    json_auto_t *required = json_array();
    for (; members->name; members++) {
        if (json_object_set_new(properties, members->name, member_schema(members)) < 0 ||
            (!members->optional && json_array_append_new(required, json_string(members->name)) < 0))
            return NULL;
    }
    return json_pack("{s:b, s:O, s:O}", "additionalProperties", 0, "required", required,
                     "properties", properties);
}

json_t *result_schema(void)
{
    json_auto_t *schema = members_schema(result_members());
    if (!schema || json_object_set_new(schema, "type", json_string("object")) < 0)
        return NULL;
    return TAKE_POINTER(schema);
}

static bool is_brief(const struct result_member *member)
{
    return member->brief;
}

static bool is_text(const struct result_member *member)
{
    return member->text;
}

static json_t *names_of(bool (*is_wanted)(const struct result_member *member))
{
    json_auto_t *names = json_array();
    for (const struct result_member *member = result_members(); member->name; member++) {
        if (is_wanted(member) && json_array_append_new(names, json_string(member->name)) < 0)
            return NULL;
    }
    return TAKE_POINTER(names);
}

static bool is_audited(const struct result_member *member)
{
    return member->audited;
}

json_t *result_form(void)
{
    return json_pack("{s:o, s:o, s:o}", "brief", names_of(is_brief), "text", names_of(is_text),
                     "audited", names_of(is_audited));
}

static void write_value(struct json_draft *draft, const struct result_member *member,
                        const struct result *result)
{
    if (member->write) {
        member->write(draft, member->name, result);
    } else if (member->members) {
        json_draft_open(draft, member->name, '{');
        result_members_write(draft, member->members, result);
        json_draft_close(draft, '}');
    } else if (member->string) {
        json_draft_string(draft, member->name, member->string(result));
    } else if (member->boolean) {
        json_draft_boolean(draft, member->name, member->boolean(result));
    } else {
        int64_t value = member->integer(result);
        if (value < 0 && member->nullable)
            json_draft_string(draft, member->name, NULL);
        else
            json_draft_integer(draft, member->name, value);
    }
}

static void write_member(struct json_draft *draft, const struct result_member *member,
                         const struct result *result)
{
    if (!member->is_given || member->is_given(result))
        write_value(draft, member, result);
    else if (!member->optional)
        json_draft_string(draft, member->name, NULL);
}

void result_members_write(struct json_draft *draft, const struct result_member *members,
                          const struct result *result)
{
    for (; members->name; members++)
        write_member(draft, members, result);
}

void result_members_audit(struct json_draft *draft, const struct result *result)
{
    for (const struct result_member *member = result_members(); member->name; member++)
        if (member->audited)
            write_member(draft, member, result);
}
