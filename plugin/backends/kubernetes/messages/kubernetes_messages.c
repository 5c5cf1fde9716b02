/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the messages between gateway and kubernetes backend: see kubernetes_messages.h.
 */
#include "backends/kubernetes/messages/kubernetes_messages.h"

#include <limits.h>

#include "base/cleanup.h"
#include "protocol/wire_fields.h"

#define STRING(member, limit) WIRE_STRING(struct kubernetes_options, member, limit)

static const struct wire_field option_fields[] = {
    WIRE_PATH(struct kubernetes_options, kubeconfig, PATH_MAX - 1),
    STRING(context, KUBERNETES_TEXT_LIMIT),
    STRING(name_space, KUBERNETES_NAME_LIMIT),
    STRING(runtime_class, KUBERNETES_TEXT_LIMIT),
    STRING(service_account, KUBERNETES_TEXT_LIMIT),
    STRING(pull_secret, KUBERNETES_TEXT_LIMIT),
    STRING(warm_pool, KUBERNETES_TEXT_LIMIT),
    WIRE_NUMBER(struct kubernetes_options, user_namespace, 1),
    STRING(service_host, KUBERNETES_TEXT_LIMIT),
    STRING(service_port, KUBERNETES_NAME_LIMIT),
};

bool kubernetes_options_write(const struct kubernetes_options *options, struct wire_bytes *ret)
{
    return wire_write_structure(option_fields, COUNT_OF(option_fields), options, RUN_OPTIONS_LIMIT,
                                ret);
}

bool kubernetes_options_read(const struct wire_bytes *bytes, struct kubernetes_options *ret)
{
    struct kubernetes_options options = {.kubeconfig = NULL};
    if (!wire_read_structure(option_fields, COUNT_OF(option_fields), bytes, &options))
        return false;
    *ret = options;
    return true;
}

void kubernetes_options_clear(struct kubernetes_options *options)
{
    wire_release_fields(option_fields, COUNT_OF(option_fields), options);
}

#define TEXT(member) WIRE_TEXT(struct kubernetes_report, member)

static const struct wire_field report_fields[] = {
    TEXT(server_version),
    TEXT(name_space),
    TEXT(pod),
    TEXT(node),
    TEXT(runtime_class),
    TEXT(kernel),
    WIRE_NUMBER(struct kubernetes_report, network_proof, NETWORK_PROOF_COUNT - 1),
    TEXT(network_reason),
};

void kubernetes_report_write(const struct kubernetes_report *report, struct run_details *ret)
{
    struct wire_writer writer = {
        .bytes = ret->bytes, .capacity = sizeof(ret->bytes), .limit = sizeof(ret->bytes)};
    wire_put_fields(&writer, report_fields, COUNT_OF(report_fields), report);
    ret->length = writer.failed ? 0 : (uint32_t)writer.length;
}

struct kubernetes_report kubernetes_report_read(const struct run_details *details)
{
    struct wire_reader reader = {.bytes = details->bytes, .length = details->length};
    struct kubernetes_report report = {.network_proof = NETWORK_NOT_PROVEN};
    wire_get_fields(&reader, report_fields, COUNT_OF(report_fields), &report);
    if (reader.failed || reader.offset != reader.length)
        return (struct kubernetes_report){.network_proof = NETWORK_NOT_PROVEN};
    return report;
}
