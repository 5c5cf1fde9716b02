/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form with which a client asks its person for approval, and what the person's answer means.
 * Without a field, accepting is the whole answer, which every client can give. Pure code, any
 * thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "approval/approval.h"

/* The parameters of elicitation/create, new; NULL where the request is more than a client can show,
 * or when out of memory. with_choice: a field that need not be filled says how long the answer
 * stands, where the request takes more than once. has_modes: the client's revision knows more kinds
 * of questions than forms. */
json_t *approval_form_params(const json_t *request, bool with_choice, bool has_modes);

/* The person's decision in the response. false: it is no answer. A choice that was not offered
 * denies. */
bool approval_form_read(const json_t *request, const json_t *response, bool with_choice,
                        enum approval_word *ret_word);
