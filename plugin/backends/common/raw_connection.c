/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the raw use of libcurl's connections: see raw_connection.h. */
#include "backends/common/raw_connection.h"

#include <errno.h>

int raw_connection_fd(CURL *easy)
{
    curl_socket_t socket = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK)
        return -1;
    return socket == CURL_SOCKET_BAD ? -1 : (int)socket;
}

static ssize_t transferred(CURLcode result, size_t count)
{
    if (result == CURLE_OK)
        return (ssize_t)count;
    errno = result == CURLE_AGAIN ? EAGAIN : EPIPE;
    return -1;
}

ssize_t raw_connection_send(CURL *easy, const void *bytes, size_t length)
{
    size_t count = 0;
    CURLcode result = curl_easy_send(easy, bytes, length, &count);
    return transferred(result, count);
}

ssize_t raw_connection_receive(CURL *easy, void *bytes, size_t capacity)
{
    size_t count = 0;
    CURLcode result = curl_easy_recv(easy, bytes, capacity, &count);
    return transferred(result, count);
}
