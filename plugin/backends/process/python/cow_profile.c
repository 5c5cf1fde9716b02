/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the child whose writes are profiled: see cow_profile.h. */
#include "backends/process/python/cow_profile.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/python/cow_prefault.h"
#include "base/cleanup.h"

#define PATIENCE_MS 5000

static _Noreturn void run_profiled(PyObject *program, int fd)
{
    PyOS_AfterFork_Child();
    PyObject *result = PyObject_CallObject(program, NULL);
    if (!result)
        _exit(1);
    Py_DecRef(result);
    (void)Py_FinalizeEx();
    cow_prefault_send_written(fd);
    _exit(0);
}

void cow_profile_run(PyObject *program)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    CLEANUP_CLOSE int read_end = ends[0];
    CLEANUP_CLOSE int write_end = ends[1];
    PyOS_BeforeFork();
    pid_t pid = fork();
    if (pid == 0)
        run_profiled(program, write_end);
    PyOS_AfterFork_Parent();
    if (pid < 0)
        return;
    close_fd(TAKE_FD(write_end));
    struct pollfd told = {.fd = read_end, .events = POLLIN};
    if (poll(&told, 1, PATIENCE_MS) > 0)
        cow_prefault_receive_written(read_end);
    (void)kill(pid, SIGKILL); /* it has nothing more to say */
    (void)waitpid(pid, NULL, 0);
}
