/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the form and reads the answer. Pure code, any thread. */
#include "mcp/approval/approval_form.h"

#include <stdio.h>
#include <string.h>

#include "approval/approval.h"
#include "base/cleanup.h"
#include "base/json.h"

#define SHOWN_COLUMNS   100u
#define LONGEST_MESSAGE 65536u
#define FIELD           "decision"

/* The whole request, as at the terminal: a person must not say yes to what was not shown. */
static char *draw_message(const json_t *request, bool with_choice)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return NULL;
    (void)fprintf(page, "%s Accept allows it once%s.\n",
                  approval_is_of_call(request) ? "A program that runs asks to call this tool."
                                               : "An agent asks to run this.",
                  with_choice ? ", or for as long as you choose" : "");
    (void)approval_show(page, request, SHOWN_COLUMNS, APPROVAL_SHOW_ALL);
    bool drawn = !ferror(page);
    drawn = fclose(page) == 0 && drawn;
    return drawn && length <= LONGEST_MESSAGE ? TAKE_POINTER(text) : NULL;
}

/* allow_once always can: accepting without a choice means it. */
static bool can_be_chosen(const json_t *request, enum approval_word word)
{
    bool lasts = word == APPROVAL_WORD_ALLOW_SESSION || word == APPROVAL_WORD_ALLOW_ALWAYS ||
                 word == APPROVAL_WORD_ALLOW_CELLS || word == APPROVAL_WORD_ALLOW_RUN;
    bool ends_run = word == APPROVAL_WORD_CANCEL && approval_is_of_call(request);
    return word == APPROVAL_WORD_ALLOW_ONCE ||
           ((lasts || ends_run) && approval_offers(request, word));
}

/* New: the words that can be chosen. */
static json_t *choices_of(const json_t *request)
{
    json_auto_t *choices = json_array();
    for (unsigned word = 0; word < APPROVAL_WORD_COUNT; word++) {
        if (can_be_chosen(request, (enum approval_word)word) &&
            json_array_append_new(choices,
                                  json_string(approval_word_name((enum approval_word)word))) != 0)
            return NULL;
    }
    return TAKE_POINTER(choices);
}

static const char *description_of(const json_t *request)
{
    if (approval_is_of_call(request))
        return "Nothing chosen is allow_once. allow_run, where it can be chosen, is for all "
               "further "
               "calls of this tool in this run. cancel denies the call and ends the run.";
    return approval_offers(request, APPROVAL_WORD_ALLOW_CELLS)
               ? "Nothing chosen is allow_once. allow_cells is for all further code in this "
                 "session, which nobody sees before it runs, until the session ends. The others "
                 "are for identical requests alone."
               : "Nothing chosen is allow_once. The others are for identical requests alone.";
}

static json_t *properties_of(const json_t *request, bool with_choice)
{
    json_auto_t *choices = with_choice ? choices_of(request) : json_array();
    if (!choices || json_array_size(choices) < 2)
        return choices ? json_object() : NULL;
    return json_pack("{s:{s:s, s:s, s:s, s:O}}", FIELD, "type", "string", "title",
                     "How long it is allowed", "description", description_of(request), "enum",
                     choices);
}

json_t *approval_form_params(const json_t *request, bool with_choice, bool has_modes)
{
    CLEANUP_FREE char *message = draw_message(request, with_choice);
    if (!message)
        return NULL;
    return json_pack("{s:s*, s:s, s:{s:s, s:o}}", "mode", has_modes ? "form" : NULL, "message",
                     message, "requestedSchema", "type", "object", "properties",
                     properties_of(request, with_choice));
}

/* Clients send what was not filled as nothing, null or an empty text. */
static enum approval_word read_choice(const json_t *request, const json_t *response)
{
    const json_t *choice = json_object_get(json_object_get(response, "content"), FIELD);
    enum approval_word word = APPROVAL_WORD_DENY;
    if (!choice || json_is_null(choice) ||
        (json_is_string(choice) && json_string_length(choice) == 0))
        return APPROVAL_WORD_ALLOW_ONCE;
    return json_is_string(choice) && approval_word_find(json_string_value(choice), &word) &&
                   can_be_chosen(request, word)
               ? word
               : APPROVAL_WORD_DENY;
}

bool approval_form_read(const json_t *request, const json_t *response, bool with_choice,
                        enum approval_word *ret_word)
{
    const char *action = json_member_string(response, "action", "");
    if (strcmp(action, "accept") == 0)
        *ret_word = with_choice ? read_choice(request, response) : APPROVAL_WORD_ALLOW_ONCE;
    else if (strcmp(action, "decline") == 0 || strcmp(action, "cancel") == 0)
        *ret_word = APPROVAL_WORD_DENY;
    else
        return false;
    return true;
}
