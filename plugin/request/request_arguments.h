/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as the tool's arguments: an object that asks for exactly this request, under the names
 * of the input schema and without absent members. Approvers see and edit it. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

#include "request/request.h"

/* A new object that request_parse() reads as the same request; NULL when out of memory. */
json_t *request_arguments(const struct request *request);
