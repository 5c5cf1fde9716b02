/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that libcurl has made and left to its owner (CURLOPT_CONNECT_ONLY): bytes as they
 * are, through TLS where it is spoken. Nothing here waits. In backends that speak HTTP.
 */
#pragma once

#include <curl/curl.h>
#include <sys/types.h>

/* Its socket, for poll(); -1: there is none. */
int raw_connection_fd(CURL *easy);

/* As send(2) and recv(2): -1 with EAGAIN, or EPIPE where it is broken. */
ssize_t raw_connection_send(CURL *easy, const void *bytes, size_t length);
ssize_t raw_connection_receive(CURL *easy, void *bytes, size_t capacity);
