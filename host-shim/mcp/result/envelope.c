/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of every result. Any thread. */
#include "mcp/result/envelope.h"

#include "mcp/wire/json_rpc.h"

json_t *envelope_server_info(const struct catalogue *catalogue)
{
    return json_pack("{s:s, s:s}", "name", catalogue->provider, "version", catalogue->version);
}

json_t *envelope_identify(const struct catalogue *catalogue, json_t *result)
{
    json_t *meta =
        json_pack("{s:o}", "io.modelcontextprotocol/serverInfo", envelope_server_info(catalogue));
    if (result)
        (void)json_object_set_new(result, "_meta", meta);
    else
        json_decref(meta);
    return result;
}

json_t *envelope_complete(const struct catalogue *catalogue, const json_t *id,
                          const struct session_revision *session, json_t *result)
{
    if (result && session->modern) {
        (void)json_object_set_new(result, "resultType", json_string("complete"));
        (void)envelope_identify(catalogue, result);
    }
    return rpc_result(id, result);
}

json_t *envelope_cacheable(const struct catalogue *catalogue, const json_t *id,
                           const struct session_revision *session, int kept_ms, json_t *result)
{
    if (result && session->modern) {
        (void)json_object_set_new(result, "ttlMs", json_integer(kept_ms));
        (void)json_object_set_new(result, "cacheScope", json_string("private"));
    }
    return envelope_complete(catalogue, id, session, result);
}
