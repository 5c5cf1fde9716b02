/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the end of a copied Python: see short_end.h. */
#include "backends/process/python/short_end.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "backends/process/python/python_abi.h"
#include "base/cleanup.h"

static struct {
    bool prepared;
    PyObject *run_exit_functions;      /* of the module atexit */
    PyObject *collector;               /* the module gc */
    PyObject *get_objects, *get_debug; /* its own, whatever a program puts there */
    PyObject *reference_type;
    PyObject *output, *errors; /* the standard streams as Python has made them */
} before;

/* Functions by which a program gets to see the rest of an end, or hides from get_objects(). */
static struct watched {
    const char *module, *name;
    int flags;
    PyCFunction function;
    bool called;
} watched[] = {
    {"sys", "addaudithook", METH_FASTCALL | METH_KEYWORDS, NULL, false},
    {"gc", "freeze", METH_NOARGS, NULL, false},
};

static PyObject *note_audit_hook(PyObject *self, PyObject *const *arguments, ssize_t count,
                                 PyObject *names)
{
    watched[0].called = true;
    return ((PyCFunctionFast)(void (*)(void))watched[0].function)(self, arguments, count, names);
}

static PyObject *note_freeze(PyObject *self, PyObject *arguments)
{
    watched[1].called = true;
    return watched[1].function(self, arguments);
}

static bool dismiss_error(void)
{
    bool failed = PyErr_Occurred();
    PyErr_Clear();
    return failed;
}

/* A new reference; NULL without an error. */
static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = object ? PyObject_GetAttrString(object, name) : NULL;
    (void)dismiss_error();
    return value;
}

static bool calls_well(PyObject *object, const char *method)
{
    PyObject *result = PyObject_CallMethod(object, method, NULL);
    Py_DecRef(result);
    return !dismiss_error();
}

/* A write that can fail once and be well the next time says nothing of the one that was. */
static bool is_blocking(PyObject *stream)
{
    PyObject *number = PyObject_CallMethod(stream, "fileno", NULL);
    long fd = number ? PyLong_AsLong(number) : -1;
    Py_DecRef(number);
    if (dismiss_error() || fd < 0)
        return false;
    int flags = fcntl((int)fd, F_GETFL);
    return flags >= 0 && !(flags & O_NONBLOCK);
}

/* A stream whose flush fails decides about the status, which is Python's to do. */
static bool is_flushed(const char *name, PyObject *as_made)
{
    PyObject *stream = PySys_GetObject(name); /* borrowed */
    return stream && stream == as_made && is_blocking(stream) && calls_well(stream, "flush");
}

static bool collections_are_watched(void)
{
    PyObject *callbacks = attribute(before.collector, "callbacks");
    PyObject *debug = PyObject_CallObject(before.get_debug, NULL);
    bool watched_now =
        !callbacks || PyList_Size(callbacks) != 0 || !debug || PyLong_AsLong(debug) != 0;
    Py_DecRef(callbacks);
    Py_DecRef(debug);
    return dismiss_error() || watched_now;
}

/* A new reference to the text; NULL without an error where it is none. */
static PyObject *utf8_of(PyObject *text)
{
    PyObject *bytes = text && text != Py_None ? PyUnicode_AsUTF8String(text) : NULL;
    (void)dismiss_error();
    return bytes;
}

/* The callbacks of weak containers only take an entry out: those of Python's library, and that of
 * abstract classes, which is C's and of no module. */
static bool is_of_a_container(PyObject *callback)
{
    PyObject *module = attribute(callback, "__module__");
    PyObject *name = utf8_of(module);
    bool found = name ? strcmp(PyBytes_AsString(name), "_weakrefset") == 0 ||
                            strcmp(PyBytes_AsString(name), "weakref") == 0
                      : callback->ob_type == before.get_objects->ob_type;
    Py_DecRef(name);
    Py_DecRef(module);
    return found;
}

static bool has_callback(PyObject *reference)
{
    PyObject *callback = attribute(reference, "__callback__");
    bool has = callback && callback != Py_None && !is_of_a_container(callback);
    Py_DecRef(callback);
    return has;
}

static bool has_finalizer(PyTypeObject *type)
{
    return PyType_GetSlot(type, PY_TP_FINALIZE) || PyType_GetSlot(type, PY_TP_DEL) ||
           dismiss_error();
}

/* Would it do something when it ends? Of types those whose objects the collector does not know. */
static bool has_end(PyObject *object)
{
    PyTypeObject *type = object->ob_type;
    if (PyType_IsSubtype(type, &PyType_Type)) {
        PyTypeObject *own = (PyTypeObject *)object;
        return !(PyType_GetFlags(own) & PY_TPFLAGS_HAVE_GC) && has_finalizer(own);
    }
    if (PyType_IsSubtype(type, (PyTypeObject *)before.reference_type))
        return has_callback(object);
    return has_finalizer(type);
}

/* Of all that has come since the original was frozen. */
static bool is_anything_left(void)
{
    PyObject *objects = PyObject_CallObject(before.get_objects, NULL);
    bool left = !objects;
    for (ssize_t i = 0; !left && i < PyList_Size(objects); i++)
        left = has_end(PyList_GetItem(objects, i));
    Py_DecRef(objects);
    return dismiss_error() || left;
}

static void wait_for_threads(void)
{
    PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading");
    if (!threading || threading == Py_None)
        return;
    Py_IncRef(threading);
    PyObject *result = PyObject_CallMethod(threading, "_shutdown", NULL);
    if (!result)
        PyErr_WriteUnraisable(threading);
    Py_DecRef(result);
    Py_DecRef(threading);
}

static bool may_be_short(void)
{
    for (size_t i = 0; i < COUNT_OF(watched); i++)
        if (watched[i].called)
            return false;
    return !collections_are_watched() && !is_anything_left() &&
           is_flushed("stdout", before.output) && is_flushed("stderr", before.errors);
}

int short_end(int status)
{
    bool is_short = before.prepared;
    if (before.prepared) {
        wait_for_threads();
        Py_DecRef(PyObject_CallObject(before.run_exit_functions, NULL));
        (void)dismiss_error();
        is_short = may_be_short();
    }
    if (!is_short && Py_FinalizeEx() < 0)
        return 120; /* as Python's own main ends then */
    return status;
}

/* In the one place where its address is, so that no program sees another function. */
static bool watch(struct watched *this, PyCFunction instead)
{
    PyObject *module = PyImport_ImportModule(this->module);
    PyObject *function = attribute(module, this->name);
    Py_DecRef(module);
    if (!function || !PyCFunction_GetFunction(function))
        return false;
    PyMethodDef *method = ((struct PyCFunctionObject *)function)->m_ml;
    Py_DecRef(function);
    if (strcmp(method->ml_name, this->name) != 0 || method->ml_flags != this->flags)
        return false;
    this->function = method->ml_meth;
    method->ml_meth = instead;
    return true;
}

/* A new reference to what that module has; the module is not in sys.modules because of it. */
static PyObject *take_from(const char *module_name, const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    bool known = PyDict_GetItemString(modules, module_name);
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = attribute(module, name);
    if (module && !known)
        (void)PyDict_DelItemString(modules, module_name);
    Py_DecRef(module);
    (void)dismiss_error();
    return found;
}

static PyObject *standard_stream(const char *name)
{
    PyObject *stream = PySys_GetObject(name);
    Py_IncRef(stream);
    return stream;
}

void short_end_prepare(void)
{
    before.run_exit_functions = take_from("atexit", "_run_exitfuncs");
    before.collector = PyImport_ImportModule("gc");
    before.get_objects = attribute(before.collector, "get_objects");
    before.get_debug = attribute(before.collector, "get_debug");
    before.reference_type = take_from("_weakref", "ReferenceType");
    before.output = standard_stream("stdout");
    before.errors = standard_stream("stderr");
    before.prepared = before.run_exit_functions && before.get_objects && before.get_debug &&
                      before.reference_type && before.output && before.errors &&
                      watch(&watched[0], (PyCFunction)(void (*)(void))note_audit_hook) &&
                      watch(&watched[1], note_freeze);
    (void)dismiss_error();
}
