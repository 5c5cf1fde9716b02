/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of Python's stable application binary interface that is used here (PEP 384; "C API
 * Stability" of the Python documentation; since 3.7), written out so that no version's headers are
 * needed. The interpreter that loads the extension has the functions.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

typedef struct _object PyObject;
typedef PyObject *(*PyCFunction)(PyObject *self, PyObject *arguments);

typedef struct PyMethodDef {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;

#define METH_NOARGS        0x0004
#define METH_O             0x0008
#define PYTHON_ABI_VERSION 3

/* The head of an object as builds have it that keep the stable interface. */
typedef struct PyModuleDef {
    ssize_t ob_refcnt;
    void *ob_type;
    PyObject *(*m_init)(void);
    ssize_t m_index;
    PyObject *m_copy;
    const char *m_name;
    const char *m_doc;
    ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots;
    void *m_traverse;
    void *m_clear;
    void *m_free;
} PyModuleDef;

PyObject *PyModule_Create2(PyModuleDef *definition, int version);
PyObject *PyList_New(ssize_t length);
int PyList_Append(PyObject *list, PyObject *item); /* keeps a reference of its own */
PyObject *PyBytes_FromString(const char *string);
PyObject *PyTuple_Pack(ssize_t length, ...);
void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);
void PyOS_BeforeFork(void);
void PyOS_AfterFork_Parent(void);
void PyOS_AfterFork_Child(void);
