/* SPDX-License-Identifier: Apache-2.0 */
/* Executing the cells of a session: see session_loop.h. */
#include "backends/process/python/session_loop.h"

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "backends/process/python/copy_on_write.h"
#include "backends/process/python/main_run.h"
#include "backends/process/python/python_abi.h"
#include "backends/process/sandbox/checkpoint.h"
#include "interpreter/cell/cell.h"
#include "protocol/run_description.h"

#define CO_COROUTINE 0x80

static int cells = -1; /* the socket */
static pid_t interpreter;
static struct checkpoint_maker checkpoints;
static size_t checkpoints_made;
static bool has_learnt; /* which pages cells write to */

static void prefault(int until)
{
    if (has_learnt)
        cow_prefault_cell(until);
}

/* Behind the second cell with a checkpoint, and whenever there are twice as many: it takes as long
 * as a short cell, and the first one is mostly of another kind. */
static void learn_pages(void)
{
    static size_t next = 2;
    if (checkpoints_made < next)
        return;
    cow_learn_cell();
    has_learnt = true;
    next = 2 * checkpoints_made;
}

bool session_loop_prepare(void)
{
    cells = cell_socket_take();
    interpreter = getpid();
    checkpoint_prepare(&checkpoints);
    checkpoints.while_copied = prefault;
    return cells >= 0;
}

/* Ahead of the cell, so that a checkpoint knows nothing of it. In one that goes on, the cell that
 * has woken the interpreter is over. "": none is wanted; NULL: this is a new branch now. */
static const char *make_checkpoint(void)
{
    enum cell_wish wish;
    while ((wish = cell_await(cells)) != CELL_ALONE) {
        bool restored;
        enum checkpoint_word word = checkpoint_make(&checkpoints, &restored);
        interpreter = getpid();
        checkpoints_made += checkpoint_word_is_taken(word);
        if (!restored && wish == CELL_WITH_CHECKPOINT)
            return checkpoint_word_name(word);
        if (!restored && checkpoint_word_is_taken(word))
            return NULL;
    }
    return "";
}

/* Without the interpreter's lock, so that threads of the program go on. *ret_checkpoint is NULL
 * where there is no cell yet. */
static enum cell_state wait_for_cell(struct cell *ret, const char **ret_checkpoint)
{
    void *state = PyEval_SaveThread();
    cell_answers_close(); /* of the last cell: a checkpoint is to have none */
    learn_pages();
    *ret_checkpoint = make_checkpoint();
    enum cell_state taken = *ret_checkpoint ? cell_take(cells, ret) : CELL_NONE;
    PyEval_RestoreThread(state);
    return taken;
}

PyObject *session_loop_take(PyObject *self, PyObject *arguments)
{
    struct cell cell;
    const char *word;
    (void)self;
    (void)arguments;
    enum cell_state state = wait_for_cell(&cell, &word);
    if (!word)
        return PyLong_FromLong(1);
    if (state == CELL_NONE) {
        Py_IncRef(Py_None);
        return Py_None;
    }
    PyObject *code = PyBytes_FromStringAndSize((const char *)cell.code, (ssize_t)cell.code_length);
    PyObject *words = bytes_list(cell.arguments);
    PyObject *environment = bytes_list(cell.environment);
    PyObject *lasting = PyLong_FromLong((long)cell.lasting);
    PyObject *failure = PyBytes_FromString(cell.failure);
    PyObject *checkpoint = PyBytes_FromString(word);
    PyObject *tools = PyLong_FromLong(cell.has_tools);
    PyObject *all =
        code && words && environment && lasting && failure && checkpoint && tools
            ? PyTuple_Pack(7, code, words, environment, lasting, failure, checkpoint, tools)
            : NULL;
    Py_DecRef(code);
    Py_DecRef(words);
    Py_DecRef(environment);
    Py_DecRef(lasting);
    Py_DecRef(failure);
    Py_DecRef(checkpoint);
    Py_DecRef(tools);
    return all;
}

/* An interruption is for a cell, not for what we do between two of them. One that comes too late is
 * forgotten. */
static void hold_interruptions(bool held)
{
    sigset_t interrupt;
    const struct timespec at_once = {.tv_sec = 0};
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    if (held)
        (void)pthread_sigmask(SIG_BLOCK, &interrupt, NULL);
    else
        while (sigtimedwait(&interrupt, NULL, &at_once) == SIGINT)
            ;
    if (PyErr_CheckSignals() < 0)
        PyErr_Clear();
    if (!held)
        (void)pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
}

static bool is_coroutine(PyObject *code)
{
    PyObject *flags = PyObject_GetAttrString(code, "co_flags");
    bool is = flags && (PyLong_AsLong(flags) & CO_COROUTINE);
    Py_DecRef(flags);
    PyErr_Clear();
    return is;
}

/* With its own traceback and no frame of ours. */
static void raise_exception(PyObject *error)
{
    Py_IncRef((PyObject *)error->ob_type);
    Py_IncRef(error);
    PyErr_Restore((PyObject *)error->ob_type, error, PyException_GetTraceback(error));
}

/* A new reference; NULL with an exception. */
static PyObject *execute(PyObject *code, PyObject *names, PyObject *await_result)
{
    PyObject *result = PyEval_EvalCode(code, names, names);
    if (!result || !is_coroutine(code))
        return result;
    PyObject *both = PyObject_CallFunctionObjArgs(await_result, result, NULL);
    Py_DecRef(result);
    if (!both)
        return NULL;
    PyObject *value = PyTuple_GetItem(both, 0);
    PyObject *error = PyTuple_GetItem(both, 1);
    if (error == Py_None) {
        Py_IncRef(value);
    } else {
        raise_exception(error);
        value = NULL;
    }
    Py_DecRef(both);
    return value;
}

/* For the code of a cell, or the exception that has kept it from being there: of that our own
 * frames are left out. A new reference to the result; NULL with an exception. */
static PyObject *perform(PyObject *code, PyObject *names, PyObject *await_result)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_DecRef(traceback);
    hold_interruptions(false);
    if (code)
        return execute(code, names, await_result);
    PyErr_Restore(type, value, NULL);
    return NULL;
}

/* Where there is no memory to say more, the gateway must still hear that the cell has ended. */
static void tell_end_alone(void)
{
    static const unsigned char frame[] = {2, 0, 0, 0, CELL_FRAME_ENDED, '{', '}'};
    (void)!write(RUN_RESULTS_FD, frame, sizeof(frame));
}

/* false: there is no further cell. */
static bool run_cell(PyObject *functions, PyObject *names, int *ret_status)
{
    PyObject *code = PyObject_CallObject(PyTuple_GetItem(functions, 0), NULL);
    if (code == Py_None) {
        Py_DecRef(code);
        return false;
    }
    PyObject *result = perform(code, names, PyTuple_GetItem(functions, 1));
    *ret_status = main_run_finish(result, names, MAIN_RUN_CELL);
    hold_interruptions(true);
    Py_DecRef(code);
    if (getpid() != interpreter) /* a child that has come to the end of its parent's cell */
        return false;
    PyObject *status = PyLong_FromLong(*ret_status);
    PyObject *told = PyObject_CallFunctionObjArgs(PyTuple_GetItem(functions, 2), status,
                                                  cell_home_is_empty() ? Py_True : Py_False, NULL);
    if (!told)
        tell_end_alone();
    Py_DecRef(told);
    Py_DecRef(status);
    PyErr_Clear();
    return true;
}

int session_loop_run(PyObject *functions)
{
    PyObject *names = PyModule_GetDict(PyImport_AddModule("__main__"));
    int status = 0;
    hold_interruptions(true);
    while (run_cell(functions, names, &status))
        ;
    hold_interruptions(false);
    return getpid() == interpreter ? 0 : status;
}
