/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "enforce_imports": the policy's list of modules held at import time by a program of ours
 * (plugin/content/enforce_imports.py) that runs first and becomes the call's program. It gives an
 * honest program a clear error; it is no isolation. Pure code, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy_content.h"
#include "request.h"

/* The file of that program, beside the call's own. */
#define CONTENT_IMPORTS_FILE "_code_execute_imports.py"

/* The rules that are to be enforced for the language; NULL: none. */
const struct content_rules *content_imports_rules(const struct policy_content *content,
                                                  const char *language);
/* Its text for this request, new, with its length; program: the call's own file. NULL: no memory.
 */
char *content_imports_program(const struct content_rules *rules, const struct request *request,
                              const char *program, size_t *ret_length);
