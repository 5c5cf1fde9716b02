/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a table of members, and its kinds. Runs in the gateway on the calling thread. */
#include "json/json_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"

static void *place_in(void *object, size_t offset)
{
    return (char *)object + offset;
}

/* Pointers to any type of struct are copied as bytes. */
static void *pointer_at(const void *target)
{
    void *pointer;
    memcpy(&pointer, target, sizeof(pointer));
    return pointer;
}

static void set_pointer(void *target, const void *pointer)
{
    memcpy(target, &pointer, sizeof(pointer));
}

static bool has_row(const struct json_member *members, const char *name, size_t length)
{
    for (; members->name; members++)
        if (strlen(members->name) == length && memcmp(members->name, name, length) == 0)
            return true;
    return false;
}

static bool read_known(const struct json_place *place, json_t *value,
                       const struct json_member *members)
{
    if (!json_read_object(place, value))
        return false;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        size_t length = json_object_iter_key_len(at);
        struct json_place unknown = json_place_member(place, name, length);
        if (!has_row(members, name, length))
            return json_place_refuse(&unknown, "unknown member");
    }
    return true;
}

bool json_read_member(const struct json_place *place, const json_t *value,
                      const struct json_member *member, void *object)
{
    struct json_place inner = json_place_named(place, member->name);
    json_t *inner_value = json_object_get(value, member->name);
    if (!inner_value && member->optional)
        return true;
    if (member->read)
        return member->read(&inner, inner_value, object);
    return !member->kind ||
           member->kind->read(&inner, inner_value, member, place_in(object, member->offset));
}

bool json_read_members(const struct json_place *place, json_t *value,
                       const struct json_member *members, void *object)
{
    if (!read_known(place, value, members))
        return false;
    for (; members->name; members++)
        if (!json_read_member(place, value, members, object))
            return false;
    return true;
}

void json_clear_members(const struct json_member *members, void *object)
{
    for (; members->name; members++)
        if (members->kind && members->kind->clear)
            members->kind->clear(members, place_in(object, members->offset));
}

static bool read_boolean(const struct json_place *place, json_t *value,
                         const struct json_member *member, void *target)
{
    (void)member;
    return json_read_boolean(place, value, target);
}

static bool read_uint32(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    int64_t number;
    if (!json_read_integer(place, value, member->minimum, member->maximum, &number))
        return false;
    *(uint32_t *)target = (uint32_t)number;
    return true;
}

static bool read_uint64(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    int64_t number;
    if (!json_read_integer(place, value, member->minimum, member->maximum, &number))
        return false;
    *(uint64_t *)target = (uint64_t)number;
    return true;
}

/* "must be ONE, TWO or THREE" */
static bool refuse_choice(const struct json_place *place, const char *const *names)
{
    char text[256] = "";
    size_t length = 0;
    for (size_t i = 0; names[i] && length < sizeof(text); i++) {
        const char *between = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", between, names[i]);
    }
    return json_place_refuse(place, "must be %s", text);
}

bool json_choose(const struct json_place *place, const char *const *names, const char *name,
                 unsigned *ret)
{
    for (unsigned i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = i;
            return true;
        }
    }
    return refuse_choice(place, names);
}

static bool read_choice(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    const char *name;
    return json_read_string(place, value, 1, SIZE_MAX, &name) &&
           json_choose(place, member->names, name, target);
}

static bool read_borrowed_text(const struct json_place *place, json_t *value,
                               const struct json_member *member, void *target)
{
    const char *text;
    if (!json_read_string(place, value, (size_t)member->minimum, (size_t)member->maximum, &text) ||
        (member->check && !member->check(place, text)))
        return false;
    *(const char **)target = text;
    return true;
}

bool json_copy_text(const struct json_place *place, const char *text, char **ret)
{
    *ret = copy_bytes(text, strlen(text));
    return *ret || json_place_out_of_memory(place);
}

static bool read_text(const struct json_place *place, json_t *value,
                      const struct json_member *member, void *target)
{
    const char *text;
    return read_borrowed_text(place, value, member, &text) && json_copy_text(place, text, target);
}

static void clear_text(const struct json_member *member, void *target)
{
    (void)member;
    free(pointer_at(target));
    set_pointer(target, NULL);
}

static bool read_object(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    return json_read_members(place, value, member->members, target);
}

static void clear_object(const struct json_member *member, void *target)
{
    json_clear_members(member->members, target);
}

/* New, with an item more than there are values: it is never empty. */
static bool make_items(const struct json_place *place, const struct json_items *items, size_t count,
                       void *target)
{
    set_pointer(target, calloc(count + 1, items->size));
    return pointer_at(target) || json_place_out_of_memory(place);
}

/* The next item, counted before it is read: one that is half read is cleared, too. */
static void *next_item(const struct json_member *member, void *target)
{
    const struct json_items *items = member->items;
    size_t *count = place_in((char *)target - member->offset, items->count);
    return place_in(pointer_at(target), (*count)++ * items->size);
}

static bool read_item(const struct json_place *place, json_t *value,
                      const struct json_member *member, void *item, void *target)
{
    if (member->items->read)
        return member->items->read(place, value, item, (char *)target - member->offset);
    return json_read_members(place, value, member->items->members, item);
}

static bool read_list(const struct json_place *place, json_t *value,
                      const struct json_member *member, void *target)
{
    if (!json_read_array(place, value, (size_t)member->minimum, (size_t)member->maximum) ||
        !make_items(place, member->items, json_array_size(value), target))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        if (!read_item(&item, json_array_get(value, i), member, next_item(member, target), target))
            return false;
    }
    return true;
}

static bool read_map(const struct json_place *place, json_t *value,
                     const struct json_member *member, void *target)
{
    const struct json_items *items = member->items;
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > (size_t)member->maximum)
        return json_place_refuse(place, "must have at most %lld members",
                                 (long long)member->maximum);
    if (!make_items(place, items, json_object_size(value), target))
        return false;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place item_place = json_place_named(place, name);
        void *item = next_item(member, target);
        if (!items->check_name(&item_place, name) ||
            !json_copy_text(&item_place, name, place_in(item, items->name)) ||
            !read_item(&item_place, json_object_iter_value(at), member, item, target))
            return false;
    }
    return true;
}

static void clear_items(const struct json_member *member, void *target)
{
    const struct json_items *items = member->items;
    size_t *count = place_in((char *)target - member->offset, items->count);
    for (size_t i = 0; i < *count; i++) {
        void *item = place_in(pointer_at(target), i * items->size);
        json_clear_members(items->members, item);
        if (items->check_name)
            clear_text(NULL, place_in(item, items->name));
    }
    free(pointer_at(target));
    set_pointer(target, NULL);
    *count = 0;
}

const struct json_kind member_boolean = {.read = read_boolean};
const struct json_kind member_uint32 = {.read = read_uint32};
const struct json_kind member_uint64 = {.read = read_uint64};
const struct json_kind member_choice = {.read = read_choice};
const struct json_kind member_text = {.read = read_text, .clear = clear_text};
const struct json_kind member_borrowed_text = {.read = read_borrowed_text};
const struct json_kind member_object = {.read = read_object, .clear = clear_object};
const struct json_kind member_list = {.read = read_list, .clear = clear_items};
const struct json_kind member_map = {.read = read_map, .clear = clear_items};
