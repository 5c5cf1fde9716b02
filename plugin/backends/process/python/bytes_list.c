/* SPDX-License-Identifier: Apache-2.0 */
/* See bytes_list.h. */
#include "backends/process/python/python_abi.h"

#include <stddef.h>

PyObject *bytes_list(char *const *strings)
{
    PyObject *list = PyList_New(0);
    for (; list && *strings; strings++) {
        PyObject *string = PyBytes_FromString(*strings);
        if (!string || PyList_Append(list, string) < 0) {
            Py_DecRef(string);
            Py_DecRef(list);
            return NULL;
        }
        Py_DecRef(string);
    }
    return list;
}
