/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of Python's stable application binary interface that is used here (PEP 384; "C API
 * Stability" of the Python documentation; since 3.7), written out so that no version's headers are
 * needed. The interpreter that loads the extension has the functions; bytes_list() is ours.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

typedef struct _typeobject PyTypeObject;
/* The head of an object as builds have it that keep the stable interface. */
typedef struct _object {
    ssize_t ob_refcnt;
    PyTypeObject *ob_type;
} PyObject;
typedef PyObject *(*PyCFunction)(PyObject *self, PyObject *arguments);
typedef PyObject *(*PyCFunctionFast)(PyObject *self, PyObject *const *arguments, ssize_t count,
                                     PyObject *names);

typedef struct PyMethodDef {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;

#define METH_NOARGS        0x0004
#define METH_O             0x0008
#define METH_KEYWORDS      0x0002
#define METH_FASTCALL      0x0080
#define PY_TP_DEL          53
#define PY_TP_FINALIZE     80
#define PY_TPFLAGS_HAVE_GC (1UL << 14)
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
PyObject *PyBytes_FromStringAndSize(const char *bytes, ssize_t length);
char *PyBytes_AsString(PyObject *bytes);                   /* NULL: it is another type */
PyObject *PyTuple_GetItem(PyObject *tuple, ssize_t index); /* borrowed */
PyObject *PyTuple_Pack(ssize_t length, ...);
void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);
void PyOS_BeforeFork(void);
void PyOS_AfterFork_Parent(void);
void PyOS_AfterFork_Child(void);
void PyErr_Clear(void);
int PyErr_CheckSignals(void);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);
PyObject *PyErr_Occurred(void);
PyObject *PyObject_GetAttrString(PyObject *object, const char *name);
PyObject *PyObject_CallObject(PyObject *callable, PyObject *arguments);
PyObject *PyObject_CallFunctionObjArgs(PyObject *callable, ...); /* NULL ends the arguments */
PyObject *PyObject_CallMethod(PyObject *object, const char *name, const char *format, ...);
long PyLong_AsLong(PyObject *number);
PyObject *PyLong_FromLong(long number);
ssize_t PyList_Size(PyObject *list);
PyObject *PyList_GetItem(PyObject *list, ssize_t index);               /* borrowed */
PyObject *PyDict_GetItemString(PyObject *dictionary, const char *key); /* borrowed */
int PyDict_DelItemString(PyObject *dictionary, const char *key);
PyObject *PySys_GetObject(const char *name); /* borrowed */
PyObject *PyImport_GetModuleDict(void);      /* borrowed */
PyObject *PyImport_ImportModule(const char *name);
PyObject *PyModule_GetDict(PyObject *module); /* borrowed */
PyCFunction PyCFunction_GetFunction(PyObject *function);
void *PyType_GetSlot(PyTypeObject *type, int slot);
int Py_FinalizeEx(void);

PyObject *PyImport_AddModule(const char *name); /* borrowed */
PyObject *PyCFunction_NewEx(PyMethodDef *method, PyObject *self, PyObject *module);
int PyList_SetSlice(PyObject *list, ssize_t low, ssize_t high, PyObject *with); /* NULL: removed */
PyObject *PyUnicode_AsUTF8String(PyObject *text);
PyObject *PyObject_Str(PyObject *object);
PyObject *PyEval_EvalCode(PyObject *code, PyObject *globals, PyObject *locals);
struct _frame *PyEval_GetFrame(void); /* borrowed; NULL: no Python code is being executed */
int Py_AddPendingCall(int (*function)(void *argument), void *argument);
int PyException_SetTraceback(PyObject *exception, PyObject *traceback);
PyObject *PyException_GetTraceback(PyObject *exception); /* NULL: none */
int PyErr_ExceptionMatches(PyObject *type);
void PyErr_SetString(PyObject *type, const char *message);
void PyErr_SetObject(PyObject *type, PyObject *value);
void PyErr_Fetch(PyObject **ret_type, PyObject **ret_value, PyObject **ret_traceback);
void PyErr_NormalizeException(PyObject **type, PyObject **value, PyObject **traceback);
void PyErr_Restore(PyObject *type, PyObject *value, PyObject *traceback); /* takes them */
void PyErr_PrintEx(int set_sys_last);
void PyErr_WriteUnraisable(PyObject *of);
int PyType_IsSubtype(PyTypeObject *type, PyTypeObject *other);
unsigned long PyType_GetFlags(PyTypeObject *type);

extern PyObject *PyExc_SystemExit __attribute__((visibility("default")));
extern PyObject *PyExc_ImportError __attribute__((visibility("default")));
extern PyObject *PyExc_SyntaxError __attribute__((visibility("default")));
extern PyObject *PyExc_KeyboardInterrupt __attribute__((visibility("default")));
struct _typeobject {
    PyObject ob_base;
};
extern PyTypeObject PyLong_Type __attribute__((visibility("default")));
extern PyTypeObject PyTuple_Type __attribute__((visibility("default")));
extern PyTypeObject PyType_Type __attribute__((visibility("default")));
extern PyObject _Py_NoneStruct __attribute__((visibility("default")));
extern PyObject _Py_TrueStruct __attribute__((visibility("default")));
extern PyObject _Py_FalseStruct __attribute__((visibility("default")));
#define Py_None  (&_Py_NoneStruct)
#define Py_True  (&_Py_TrueStruct)
#define Py_False (&_Py_FalseStruct)

/* The head of a function of C's, which is not of the stable interface and has not changed since
 * Python 2. */
struct PyCFunctionObject {
    PyObject ob_base;
    PyMethodDef *m_ml;
};

/* A list of bytes from a NULL-terminated list, or an empty one. NULL with an exception set. */
PyObject *bytes_list(char *const *strings);
