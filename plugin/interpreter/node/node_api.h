/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the addon uses of Node-API (stable since version 1, "ABI stability" of the Node.js
 * documentation), written out so that no version's headers are needed. A status of 0 is success.
 * node_array_of() is ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef struct napi_threadsafe_function__ *napi_threadsafe_function;
typedef struct napi_ref__ *napi_ref;
typedef napi_value (*napi_callback)(napi_env environment, napi_callback_info info);
typedef void (*napi_finalize)(napi_env environment, void *data, void *hint);
typedef void (*napi_threadsafe_function_call_js)(napi_env environment, napi_value function,
                                                 void *context, void *data);

int napi_create_array(napi_env environment, napi_value *result);
int napi_set_element(napi_env environment, napi_value object, uint32_t index, napi_value value);
int napi_create_string_utf8(napi_env environment, const char *string, size_t length,
                            napi_value *result);
int napi_get_value_string_utf8(napi_env environment, napi_value value, char *buffer, size_t size,
                               size_t *result);
int napi_create_int32(napi_env environment, int32_t value, napi_value *result);
#define NAPI_FUNCTION 7
int napi_typeof(napi_env environment, napi_value value, int *result);
int napi_get_value_bool(napi_env environment, napi_value value, bool *result);
int napi_get_boolean(napi_env environment, bool value, napi_value *result);
int napi_get_null(napi_env environment, napi_value *result);
int napi_get_undefined(napi_env environment, napi_value *result);
int napi_create_buffer_copy(napi_env environment, size_t length, const void *data,
                            void **result_data, napi_value *result);
int napi_has_named_property(napi_env environment, napi_value object, const char *name,
                            bool *result);
int napi_set_named_property(napi_env environment, napi_value object, const char *name,
                            napi_value value);
int napi_create_reference(napi_env environment, napi_value value, uint32_t count, napi_ref *result);
int napi_get_reference_value(napi_env environment, napi_ref reference, napi_value *result);
int napi_create_function(napi_env environment, const char *name, size_t length,
                         napi_callback callback, void *data, napi_value *result);
int napi_get_cb_info(napi_env environment, napi_callback_info info, size_t *count,
                     napi_value *arguments, napi_value *self, void **data);
int napi_call_function(napi_env environment, napi_value receiver, napi_value function, size_t count,
                       const napi_value *arguments, napi_value *result);
int napi_get_and_clear_last_exception(napi_env environment, napi_value *result);
int napi_create_threadsafe_function(napi_env environment, napi_value function,
                                    napi_value async_resource, napi_value async_resource_name,
                                    size_t queue_limit, size_t thread_count, void *finalize_data,
                                    napi_finalize finalize, void *context,
                                    napi_threadsafe_function_call_js call_js,
                                    napi_threadsafe_function *result);
int napi_call_threadsafe_function(napi_threadsafe_function function, void *data, int mode);

/* An array of strings, from a NULL-terminated list. Main thread of the interpreter. NULL: it cannot
 * be had. */
napi_value node_array_of(napi_env environment, char *const *strings);
