/* SPDX-License-Identifier: Apache-2.0 */
/* The lock and the wake event of what all of the server shares. Any thread. */
#include "mcp/server_state.h"

#include <unistd.h>

void server_lock(struct server *server)
{
    (void)pthread_mutex_lock(&server->lock);
}

void server_unlock(struct server *server)
{
    (void)pthread_mutex_unlock(&server->lock);
}

void server_wake(struct server *server)
{
    uint64_t one = 1;
    (void)!write(server->wake_fd, &one, sizeof(one));
}
