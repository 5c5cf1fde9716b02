/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in the gateway, on the thread inside tool_invoke(), tool_status() or tool_prepare(). */
#include "gate/offer/offer_list.h"

#include <stdio.h>
#include <string.h>

void offer_list_begin(struct offer_list *list, const json_t *member, size_t limit, size_t reserve)
{
    *list = (struct offer_list){.limit = limit, .reserve = reserve};
    list->length = (size_t)snprintf(list->text, limit, "%s There are:",
                                    json_string_value(json_object_get(member, "description")));
}

void offer_list_add(struct offer_list *list, const char *line)
{
    if (list->left_out > 0 || list->length + strlen(line) + list->reserve > list->limit)
        list->left_out++;
    else
        list->length +=
            (size_t)snprintf(list->text + list->length, list->limit - list->length, "%s", line);
}

bool offer_list_end(struct offer_list *list, const char *more, json_t *member)
{
    if (list->left_out > 0)
        (void)snprintf(list->text + list->length, list->limit - list->length, "\n%zu more %s",
                       list->left_out, more);
    return json_object_set_new(member, "description", json_string(list->text)) == 0;
}
