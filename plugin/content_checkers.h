/* SPDX-License-Identifier: Apache-2.0 */
/* What content_check() asks: each adds its findings to call->content. Inner to the content checks.
 */
#pragma once

#include "call.h"
#include "content.h"

/* By the syntax tree, in a sandbox of its own. */
struct content_answer content_check_python(struct call *call, const struct content_rules *rules,
                                           struct error *error);
/* The gateway's callback. */
struct content_answer content_ask_host(struct call *call, struct error *error);
/* By sequences of words. */
struct content_answer content_check_tokens(struct call *call, const struct content_rules *rules,
                                           struct error *error);
