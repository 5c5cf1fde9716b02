/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the shortened end: see finalization.h. Py_FinalizeEx (Python/pylifecycle.c of CPython 3.11)
 * waits for threads, calls what is registered with atexit, flushes the standard streams, collects
 * garbage, and then finalize_modules() sets some names of sys to None, takes every module out of
 * sys.modules, collects garbage, clears the modules that are left in the reverse order, and sys and
 * builtins at last.
 *
 * Two of these steps call back here. When the function goes that the module site has put into
 * sys.__interactivehook__ (a program has no reason to hold on to it; where it does, its end is not
 * shortened), which is the last of those names, take_out() hides the modules of before. A module of
 * ours that is then first in sys.modules is cleared last, and leave() returns from Py_FinalizeEx in
 * its place if nothing is left of the program whose end could be noticed.
 */
#include "backends/process/python/finalization.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "backends/process/python/outer_return.h"
#include "backends/process/python/python_abi.h"
#include "base/cleanup.h"

static struct {
    PyObject *modules;     /* sys.modules as it was; NULL: nothing is prepared */
    PyObject *hook;        /* a weak reference to the function that is noticed to go */
    PyObject *collector;   /* the module gc */
    PyObject *get_objects; /* its own, whatever a program puts there */
    PyTypeObject *stream_type, *buffer_type, *file_type;
    bool audited;
    struct outer_return end;
} before;

static PyCFunctionFast add_audit_hook;

/* Who hears of everything would hear of what is done here. */
static PyObject *note_audit_hook(PyObject *self, PyObject *const *arguments, ssize_t count,
                                 PyObject *names)
{
    before.audited = true;
    return add_audit_hook(self, arguments, count, names);
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
    PyObject *value = PyObject_GetAttrString(object, name);
    (void)dismiss_error();
    return value;
}

static bool has_type(PyObject *object, const char *name, PyTypeObject *type)
{
    PyObject *value = attribute(object, name);
    bool has = value && value->ob_type == type;
    Py_DecRef(value);
    return has;
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

/* Python has flushed it before, and how that went decides about the exit status: what failed then
 * is still there and fails again. Only of streams as Python makes them is that known. */
static bool is_flushed(const char *name)
{
    PyObject *stream = PySys_GetObject(name); /* borrowed */
    if (!stream || stream == Py_None)
        return true;
    if (stream->ob_type != before.stream_type)
        return false;
    PyObject *closed = attribute(stream, "closed");
    bool is_closed = closed && PyObject_IsTrue(closed) == 1;
    Py_DecRef(closed);
    if (is_closed)
        return true;
    PyObject *buffer = attribute(stream, "buffer");
    bool is_usual =
        buffer &&
        (buffer->ob_type == before.file_type ||
         (buffer->ob_type == before.buffer_type && has_type(buffer, "raw", before.file_type)));
    Py_DecRef(buffer);
    return is_usual && is_blocking(stream) && calls_well(stream, "flush");
}

static bool nobody_watches_collections(void)
{
    PyObject *callbacks = attribute(before.collector, "callbacks");
    PyObject *debug = PyObject_CallMethod(before.collector, "get_debug", NULL);
    bool watched = !callbacks || PyList_Size(callbacks) != 0 || !debug || PyLong_AsLong(debug) != 0;
    Py_DecRef(callbacks);
    Py_DecRef(debug);
    return !dismiss_error() && !watched;
}

/* Is this finalize_modules() between the names of sys, of which the one that led here is the last,
 * and the modules? */
static bool is_the_end(void)
{
    PyObject *path = PySys_GetObject("path");
    PyObject *meta_path = PySys_GetObject("meta_path");
    PyObject *first = PyDict_GetItemString(PyImport_GetModuleDict(), "sys");
    return _Py_IsFinalizing() && path == Py_None && meta_path == Py_None && first &&
           first != Py_None && outer_return_find((void (*)(void))Py_FinalizeEx, &before.end);
}

/* Does anything among these objects do something when it ends? */
static bool has_end(PyObject *objects)
{
    bool has = false;
    for (ssize_t i = 0; !has && i < PyList_Size(objects); i++) {
        PyTypeObject *type = PyList_GetItem(objects, i)->ob_type;
        has = PyType_GetSlot(type, PY_TP_FINALIZE) || PyType_GetSlot(type, PY_TP_DEL) ||
              dismiss_error();
    }
    return has;
}

/* Python's own way with a module that nothing but other modules needs. */
static void clear_modules(PyObject *references)
{
    for (ssize_t i = PyList_Size(references) - 1; i >= 0; i--) {
        PyObject *module = PyWeakref_GetObject(PyList_GetItem(references, i));
        if (!module || module == Py_None)
            continue;
        Py_IncRef(module);
        _PyModule_Clear(module);
        Py_DecRef(module);
    }
}

/* What was left alone takes part in the end after all: it may have something of the program. What
 * the program itself has left over is Python's to end, after sys and builtins. */
static void leave_nothing_alone(void)
{
    PyObject *references = PyList_New(0);
    PyObject *name;
    PyObject *module;
    ssize_t position = 0;
    while (references && PyDict_Next(before.modules, &position, &name, &module)) {
        PyObject *reference = PyWeakref_NewRef(module, NULL);
        if (reference)
            (void)PyList_Append(references, reference);
        Py_DecRef(reference);
    }
    (void)dismiss_error();
    Py_DecRef(before.modules);
    before.modules = NULL;
    (void)calls_well(before.collector, "unfreeze");
    (void)calls_well(before.collector, "collect");
    if (references)
        clear_modules(references);
    Py_DecRef(references);
}

/* The program's own modules are cleared. What the collector knows of is the program's, as what was
 * there before is frozen. */
static void leave(PyObject *capsule)
{
    PyObject *left = PyObject_CallObject(before.get_objects, NULL);
    (void)capsule;
    if (dismiss_error() || !left || has_end(left)) {
        leave_nothing_alone();
        Py_DecRef(left);
        return;
    }
    (void)is_flushed("stdout"); /* as their own end would do it */
    (void)is_flushed("stderr");
    outer_return_leave(&before.end, 0);
}

/* One whose clearing calls leave(). */
static PyObject *make_last_module(void)
{
    static char anything;
    PyObject *module = PyModule_New("");
    PyObject *capsule = module ? PyCapsule_New(&anything, NULL, leave) : NULL;
    if (!capsule || PyDict_SetItemString(PyModule_GetDict(module), "end", capsule) < 0)
        return NULL;
    Py_DecRef(capsule);
    return module;
}

/* A list of (name, module) that are not of before. */
static PyObject *modules_since(PyObject *modules)
{
    PyObject *since = PyList_New(0);
    PyObject *name;
    PyObject *module;
    ssize_t position = 0;
    while (since && PyDict_Next(modules, &position, &name, &module)) {
        if (PyDict_GetItem(before.modules, name) == module)
            continue;
        PyObject *both = PyTuple_Pack(2, name, module);
        if (both)
            (void)PyList_Append(since, both);
        Py_DecRef(both);
    }
    return since;
}

/* Leaves in sys.modules what is not of before, with the last one in front. */
static void arrange_modules(PyObject *last)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *since = modules_since(modules);
    if (!since)
        return;
    PyDict_Clear(modules);
    (void)PyDict_SetItemString(modules, "", last);
    for (ssize_t i = 0; i < PyList_Size(since); i++) {
        PyObject *both = PyList_GetItem(since, i);
        (void)PyDict_SetItem(modules, PyTuple_GetItem(both, 0), PyTuple_GetItem(both, 1));
    }
    Py_DecRef(since);
}

/* Called when the function goes. */
static PyObject *take_out(PyObject *self, PyObject *reference)
{
    (void)self;
    (void)reference;
    if (before.modules && !before.audited && is_the_end() && nobody_watches_collections() &&
        is_flushed("stdout") && is_flushed("stderr")) {
        PyObject *last = make_last_module();
        if (last)
            arrange_modules(last);
    }
    (void)dismiss_error();
    Py_IncRef(Py_None);
    return Py_None;
}

static PyObject *modules_of_before(void)
{
    static const char *const not_among[] = {"sys", "builtins", "__main__"};
    PyObject *modules = PyDict_Copy(PyImport_GetModuleDict());
    for (size_t i = 0; modules && i < COUNT_OF(not_among); i++)
        (void)PyDict_DelItemString(modules, not_among[i]);
    return modules;
}

static bool note_stream_types(void)
{
    PyObject *io = PyImport_ImportModule("_io");
    if (!io)
        return false;
    before.stream_type = (PyTypeObject *)attribute(io, "TextIOWrapper");
    before.buffer_type = (PyTypeObject *)attribute(io, "BufferedWriter");
    before.file_type = (PyTypeObject *)attribute(io, "FileIO");
    Py_DecRef(io);
    return before.stream_type && before.buffer_type && before.file_type;
}

/* In the one place where its address is, so that no program sees another function. */
static bool watch_audit_hooks(void)
{
    PyObject *function = PySys_GetObject("addaudithook");
    if (!function || !PyCFunction_GetFunction(function))
        return false;
    PyMethodDef *method = ((struct PyCFunctionObject *)function)->m_ml;
    if (strcmp(method->ml_name, "addaudithook") != 0 ||
        method->ml_flags != (METH_FASTCALL | METH_KEYWORDS))
        return false;
    add_audit_hook = (PyCFunctionFast)(void (*)(void))method->ml_meth;
    method->ml_meth = (PyCFunction)(void (*)(void))note_audit_hook;
    return true;
}

void finalization_prepare(void)
{
    static PyMethodDef callback = {"finalize", take_out, METH_O, NULL};
    if (strncmp(Py_GetVersion(), "3.11.", 5) != 0 || !_Py_IsFinalizing || !_PyModule_Clear)
        return;
    PyObject *hook = PySys_GetObject("__interactivehook__"); /* borrowed */
    before.collector = PyImport_ImportModule("gc");
    before.get_objects = before.collector ? attribute(before.collector, "get_objects") : NULL;
    PyObject *function = PyCFunction_NewEx(&callback, NULL, NULL);
    if (hook && function && before.get_objects && note_stream_types() && watch_audit_hooks() &&
        (before.hook = PyWeakref_NewRef(hook, function)))
        before.modules = modules_of_before();
    (void)dismiss_error();
}
