/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the bytes of orders and replies: see secret_order.h. Runs in the gateway and the helper. */
#include "protocol/orders/secret_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/wire_fields.h"

static const struct wire_field fields[] = {
    WIRE_STRINGS(struct secret_order, argv, SECRET_ORDER_STRINGS, SECRET_ORDER_LIMIT),
    WIRE_STRINGS(struct secret_order, environment, SECRET_ORDER_STRINGS, SECRET_ORDER_LIMIT),
    WIRE_NUMBER(struct secret_order, timeout_ms, UINT64_MAX),
};

unsigned char *secret_order_encode(const struct secret_order *order, size_t *ret_length)
{
    struct wire_writer writer = {.limit = SECRET_ORDER_LIMIT};
    wire_put_fields(&writer, fields, COUNT_OF(fields), order);
    return wire_take_message(&writer, ret_length);
}

bool secret_order_decode(const unsigned char *message, size_t length, struct secret_order *ret)
{
    struct wire_reader reader = {.bytes = message, .length = length};
    struct secret_order order = {0};
    wire_get_fields(&reader, fields, COUNT_OF(fields), &order);
    if (reader.failed || reader.offset != length || !order.argv[0] || order.argv[0][0] != '/') {
        secret_order_clear(&order);
        return false;
    }
    *ret = order;
    return true;
}

void secret_order_clear(struct secret_order *order)
{
    wire_release_fields(fields, COUNT_OF(fields), order);
    *order = (struct secret_order){0};
}

void secret_reply_encode(const struct secret_reply *reply, unsigned char ret[SECRET_REPLY_HEADER])
{
    struct wire_writer writer = {
        .bytes = ret, .capacity = SECRET_REPLY_HEADER, .limit = SECRET_REPLY_HEADER};
    wire_put_u32(&writer, reply->outcome);
    wire_put_u32(&writer, reply->detail);
    wire_put_u32(&writer, (uint32_t)reply->length);
}

bool secret_reply_decode(const unsigned char *message, size_t length, struct secret_reply *ret)
{
    struct wire_reader reader = {.bytes = message, .length = length};
    uint32_t outcome = wire_get_u32(&reader);
    uint32_t detail = wire_get_u32(&reader);
    uint32_t value_length = wire_get_u32(&reader);
    if (reader.failed || outcome >= SECRET_OUTCOME_COUNT ||
        value_length != length - reader.offset ||
        (value_length > 0 && outcome != SECRET_OUTCOME_VALUE))
        return false;
    *ret = (struct secret_reply){
        .outcome = (enum secret_outcome)outcome, .detail = detail, .length = value_length};
    return true;
}
