/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for status.c where libmicrohttpd is not there: the configuration refuses its address. */
#include "backends/worker/status.h"

#include <stddef.h>

struct status_server *status_server_new(struct event_loop *loop, const char *address,
                                        const struct status_source *source, struct error *error)
{
    (void)loop;
    (void)source;
    error_set(error, ERROR_NOT_SUPPORTED, "%s: there is no server of health and metrics", address);
    return NULL;
}

void status_server_free(struct status_server *server)
{
    (void)server;
}
