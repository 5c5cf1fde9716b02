/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the values: see node_api.h. */
#include "interpreter/node/node_api.h"

#include <string.h>

napi_value node_array_of(napi_env environment, char *const *strings)
{
    napi_value array;
    napi_value string;
    if (napi_create_array(environment, &array) != 0)
        return NULL;
    for (uint32_t i = 0; strings[i]; i++)
        if (napi_create_string_utf8(environment, strings[i], strlen(strings[i]), &string) != 0 ||
            napi_set_element(environment, array, i, string) != 0)
            return NULL;
    return array;
}
