/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the extension by which Python waits for a run; sitecustomize.py calls it. Runs inside the
 * interpreter, in its main thread.
 */
#include "backends/process/python/copy_on_write.h"
#include "backends/process/python/exit_by_init.h"
#include "backends/process/python/fork_server.h"
#include "backends/process/python/main_run.h"
#include "backends/process/python/python_abi.h"
#include "backends/process/python/rehearsal.h"
#include "backends/process/python/session_loop.h"
#include "backends/process/python/short_end.h"
#include "backends/process/sandbox/sandbox.h"

static struct sandbox sandbox; /* this process is its payload, or is to be copied into such */

static PyObject *adopt(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    interpreter_adopt(&sandbox);
    return PyList_New(0);
}

/* "" where it is none. */
static const char *text_of(PyObject *bytes)
{
    const char *text = PyBytes_AsString(bytes);
    if (!text)
        PyErr_Clear();
    return text ? text : "";
}

static void begin_fork(void)
{
    cow_note_mappings();
    PyOS_BeforeFork();
}

/* Returns the home of a copy's run, as bytes; "": it is a rehearsal. */
static PyObject *serve_forks(PyObject *self, PyObject *left_out)
{
    static const struct fork_server_calls calls = {rehearsal_begin, begin_fork,
                                                   PyOS_AfterFork_Parent, cow_prefault};
    (void)self;
    fork_server_serve(text_of(left_out), &calls, &sandbox);
    exit_by_init_arm();
    PyOS_AfterFork_Child();
    return PyBytes_FromString(rehearsal_is_on() ? "" : sandbox.places.home);
}

static PyObject *refuse_forks(PyObject *self, PyObject *why)
{
    (void)self;
    fork_server_refuse(text_of(why));
}

static PyObject *prepare_end(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    short_end_prepare();
    return PyList_New(0);
}

static PyObject *arm_main(PyObject *self, PyObject *functions)
{
    (void)self;
    main_run_arm(functions);
    return PyList_New(0);
}

/* True where this run is a session. */
static PyObject *prepare_session(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    return PyLong_FromLong(session_loop_prepare());
}

/* ([bytes of an argument, ...], [b"NAME=value", ...]) */
static PyObject *wait_for_run(PyObject *self, PyObject *arguments)
{
    struct taken_run run;
    (void)self;
    (void)arguments;
    if (rehearsal_is_on())
        rehearsal_take_run(&run);
    else
        interpreter_take_run(&sandbox, &run);
    PyObject *own_arguments = bytes_list(run.arguments);
    PyObject *environment = own_arguments ? bytes_list(run.environment) : NULL;
    PyObject *both = environment ? PyTuple_Pack(2, own_arguments, environment) : NULL;
    Py_DecRef(own_arguments);
    Py_DecRef(environment);
    return both;
}

__attribute__((visibility("default"))) PyObject *PyInit_code_execute_python(void);

PyObject *PyInit_code_execute_python(void)
{
    static PyMethodDef methods[] = {
        {"adopt", adopt, METH_NOARGS, NULL},
        {"serve_forks", serve_forks, METH_O, NULL},
        {"refuse_forks", refuse_forks, METH_O, NULL},
        {"prepare_end", prepare_end, METH_NOARGS, NULL},
        {"arm_main", arm_main, METH_O, NULL},
        {"wait_for_run", wait_for_run, METH_NOARGS, NULL},
        {"prepare_session", prepare_session, METH_NOARGS, NULL},
        {"take_cell", session_loop_take, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyModuleDef definition = {
        .ob_refcnt = 1,
        .m_name = "code_execute_python",
        .m_size = -1,
        .m_methods = methods,
    };
    exit_by_init_prepare();
    return PyModule_Create2(&definition, PYTHON_ABI_VERSION);
}
