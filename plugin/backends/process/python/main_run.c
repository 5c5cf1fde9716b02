/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the run of a program as module __main__: see main_run.h. */
#include "backends/process/python/main_run.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/process/python/rehearsal.h"
#include "backends/process/python/session_loop.h"
#include "backends/process/python/short_end.h"
#include "base/cleanup.h"

#define VALUE_NAME " value" /* program_code.py */

static PyObject *load_code; /* NULL: Python runs the program */
static PyObject *tell;      /* of results.py */
static PyObject
    *watchers[4];           /* sys.gettrace, settrace, getprofile, setprofile, as Python has them */
static PyObject *main_hook; /* borrowed from sys.path_hooks */

static void flush(const char *name)
{
    PyObject *stream = PySys_GetObject(name); /* borrowed */
    PyObject *result = stream ? PyObject_CallMethod(stream, "flush", NULL) : NULL;
    Py_DecRef(result);
    PyErr_Clear();
}

/* Python's own main does so behind the program, and prints the exception then. */
static void flush_both(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    flush("stderr");
    flush("stdout");
    PyErr_Restore(type, value, traceback);
}

/* Does the exit ask for a number that is one of C's? All else is Python's to report. */
static bool read_status(PyObject *exit_request, int *ret_status)
{
    if (exit_request->ob_type != (PyTypeObject *)PyExc_SystemExit)
        return false;
    PyObject *code = PyObject_GetAttrString(exit_request, "code");
    bool known = code && (code == Py_None || code->ob_type == &PyLong_Type);
    if (known)
        *ret_status = code == Py_None ? 0 : (int)PyLong_AsLong(code);
    Py_DecRef(code);
    bool failed = PyErr_Occurred();
    PyErr_Clear();
    return known && !failed;
}

/* As Python does it behind the end of everything else, so that a shell sees it too. */
static _Noreturn void end_by_interrupt(void)
{
    (void)Py_FinalizeEx();
    (void)signal(SIGINT, SIG_DFL);
    (void)kill(getpid(), SIGINT);
    exit(SIGINT + 128);
}

/* A session goes on behind an exit that Python would report and then make: only with a text. */
static int report_exit_text(PyObject *exit_request)
{
    PyObject *stream = PySys_GetObject("stderr"); /* borrowed */
    PyObject *code = PyObject_GetAttrString(exit_request, "code");
    PyObject *text = code ? PyObject_Str(code) : NULL;
    if (stream && text) {
        Py_DecRef(PyObject_CallMethod(stream, "write", "O", text));
        Py_DecRef(PyObject_CallMethod(stream, "write", "s", "\n"));
    }
    Py_DecRef(text);
    Py_DecRef(code);
    PyErr_Clear();
    return 1;
}

/* For the exception that has ended the program; returns its status. */
static int report_exception(enum main_run_kind kind)
{
    PyObject *type, *value, *traceback;
    int status;
    bool is_interrupt = PyErr_Occurred() == PyExc_KeyboardInterrupt;
    if (PyErr_ExceptionMatches(PyExc_SystemExit)) {
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        bool is_known = read_status(value, &status);
        if (!is_known && kind == MAIN_RUN_CELL) {
            status = report_exit_text(value);
            is_known = true;
        }
        if (is_known) {
            Py_DecRef(type);
            Py_DecRef(value);
            Py_DecRef(traceback);
            return status;
        }
        PyErr_Restore(type, value, traceback);
    }
    PyErr_PrintEx(1); /* does not return where the exception asks for an exit */
    if (is_interrupt && kind == MAIN_RUN_PROGRAM)
        end_by_interrupt();
    return 1;
}

/* Ours are no frames of the program's: it must not trace them. A new reference to what watched. */
static PyObject *watch_instead(size_t which, PyObject *watcher)
{
    PyObject *before = PyObject_CallObject(watchers[2 * which], NULL);
    if (before && before != watcher)
        Py_DecRef(PyObject_CallFunctionObjArgs(watchers[2 * which + 1], watcher, NULL));
    PyErr_Clear();
    return before;
}

static void tell_unwatched(PyObject *value, PyObject *error)
{
    PyObject *trace = watch_instead(0, Py_None);
    PyObject *profile = watch_instead(1, Py_None);
    Py_DecRef(PyObject_CallFunctionObjArgs(tell, value, error, NULL));
    PyErr_Clear();
    if (profile)
        Py_DecRef(watch_instead(1, profile));
    if (trace)
        Py_DecRef(watch_instead(0, trace));
    Py_DecRef(profile);
    Py_DecRef(trace);
}

/* Keeps the exception, of which nothing is told where it asks for an exit. */
static void tell_end(PyObject *value)
{
    PyObject *type, *error, *traceback;
    bool is_exit = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_SystemExit);
    PyErr_Fetch(&type, &error, &traceback);
    if (type)
        PyErr_NormalizeException(&type, &error, &traceback);
    if (error && traceback)
        (void)PyException_SetTraceback(error, traceback);
    tell_unwatched(value ? value : Py_None, error && !is_exit ? error : Py_None);
    PyErr_Restore(type, error, traceback);
}

/* A new reference, and the name is gone; NULL: the last statement has no value. Takes the result,
 * which is None but for code that is one expression, whose value it is. */
static PyObject *take_value(PyObject *result, PyObject *names)
{
    if (result != Py_None)
        return result;
    Py_DecRef(result);
    PyObject *value = PyDict_GetItemString(names, VALUE_NAME);
    if (!value)
        return NULL;
    Py_IncRef(value);
    (void)PyDict_DelItemString(names, VALUE_NAME);
    PyErr_Clear();
    return value;
}

int main_run_finish(PyObject *result, PyObject *names, enum main_run_kind kind)
{
    PyObject *value = result ? take_value(result, names) : NULL;
    flush_both();
    tell_end(value);
    Py_DecRef(value);
    int status = result ? 0 : report_exception(kind);
    if (kind == MAIN_RUN_CELL)
        flush_both();
    return status;
}

static _Noreturn void run(PyObject *code)
{
    PyObject *names = PyModule_GetDict(PyImport_AddModule("__main__"));
    Py_IncRef(names);
    PyObject *result = PyEval_EvalCode(code, names, names);
    int status = main_run_finish(result, names, MAIN_RUN_PROGRAM);
    Py_DecRef(code);
    (void)PyDict_DelItemString(names, "__file__");
    PyErr_Clear();
    (void)PyDict_DelItemString(names, "__cached__");
    PyErr_Clear();
    Py_DecRef(names);
    exit(short_end(status));
}

/* As Python's own main does, but by the program's own name. */
static _Noreturn void refuse_program(PyObject *error)
{
    PyObject *names = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyErr_SetObject((PyObject *)error->ob_type, error);
    exit(short_end(main_run_finish(NULL, names, MAIN_RUN_PROGRAM)));
}

/* Called by what Python's own main calls right before it opens the program. */
static int run_program(void *unused)
{
    (void)unused;
    PyObject *code = PyEval_GetFrame() ? NULL : PyObject_CallObject(load_code, NULL);
    Py_DecRef(load_code);
    load_code = NULL;
    if (code && code->ob_type == &PyTuple_Type)
        exit(short_end(session_loop_run(code)));
    if (code && PyType_IsSubtype(code->ob_type, (PyTypeObject *)PyExc_SyntaxError))
        refuse_program(code);
    if (code && code != Py_None)
        run(code);
    Py_DecRef(code);
    PyErr_Clear();
    return 0;
}

/* What Python's main does before it opens its program is on the stack. */
#define DEEPEST_BYTES 81920

static _Noreturn void rehearse_main(void)
{
    volatile char deepest[DEEPEST_BYTES];
    for (size_t i = 0; i < sizeof(deepest); i += 1024)
        deepest[i] = 0;
    (void)run_program(NULL);
    rehearsal_end(); /* Python's main runs programs of this command line */
}

/* Among sys.path_hooks, and as the last of them refuses every path. Python's own main asks whether
 * the program is a directory or an archive: the only time that no frame is there. Whatever is
 * pending runs between the next instructions, and there are none left before the program. */
static PyObject *await_main(PyObject *self, PyObject *path)
{
    (void)self;
    (void)path;
    PyObject *hooks = PySys_GetObject("path_hooks"); /* borrowed */
    ssize_t last = hooks ? PyList_Size(hooks) - 1 : -1;
    if (last >= 0 && PyList_GetItem(hooks, last) == main_hook && !PyEval_GetFrame()) {
        (void)PyList_SetSlice(hooks, last, last + 1, NULL);
        if (rehearsal_is_on()) /* there is no file of that name */
            rehearse_main();
        (void)Py_AddPendingCall(run_program, NULL);
    }
    PyErr_SetString(PyExc_ImportError, "not a path");
    return NULL;
}

static bool take_watchers(void)
{
    static const char *const names[COUNT_OF(watchers)] = {"gettrace", "settrace", "getprofile",
                                                          "setprofile"};
    for (size_t i = 0; i < COUNT_OF(watchers); i++) {
        watchers[i] = PySys_GetObject(names[i]); /* borrowed */
        if (!watchers[i])
            return false;
        Py_IncRef(watchers[i]);
    }
    return true;
}

void main_run_arm(PyObject *functions)
{
    static PyMethodDef definition = {"await_main", await_main, METH_O, NULL};
    PyObject *hooks = PySys_GetObject("path_hooks"); /* borrowed */
    PyObject *load = PyTuple_GetItem(functions, 0);
    tell = PyTuple_GetItem(functions, 1);
    main_hook = load && tell && take_watchers() ? PyCFunction_NewEx(&definition, NULL, NULL) : NULL;
    if (hooks && main_hook && PyList_Append(hooks, main_hook) == 0) {
        Py_IncRef(load);
        Py_IncRef(tell);
        load_code = load;
    }
    Py_DecRef(main_hook);
    PyErr_Clear();
}
