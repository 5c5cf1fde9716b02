/* SPDX-License-Identifier: Apache-2.0 */
/* A request as an object of its members. Pure code; runs in the gateway on the calling thread. */
#include "request/request_arguments.h"

#include "base/cleanup.h"
#include "request/request_fields.h"

json_t *request_arguments(const struct request *request)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    json_auto_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        if (request_field_is_given(&fields[i], request) &&
            json_object_set_new(object, fields[i].name, request_field_value(&fields[i], request)) !=
                0)
            return NULL;
    return TAKE_POINTER(object);
}
