/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-guest: the first process of a container. It reports what the kernel says of it,
 * takes one run from its standard input, starts the program, passes on its output, and reports its
 * end when every process of it is dead (guest_protocol.h). The program cannot look into it, and
 * gets none of its own descriptors. As a process of the program it is the command that calls tools,
 * or in front of the shell of a session.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/channels/guest_endpoints.h"
#include "guest/channels/guest_tools.h"
#include "guest/files/guest_files.h"
#include "guest/guest_relay.h"
#include "guest/layers/guest_layers.h"
#include "guest/layers/landlock.h"
#include "guest/messages/guest_input.h"
#include "guest/messages/guest_output.h"
#include "guest/program/guest_interpreter.h"
#include "guest/program/guest_program.h"
#include "guest/program/guest_tool_command.h"
#include "guest/session/guest_session.h"
#include "interpreter/installer_command/installer_command.h"
#include "interpreter/shell/shell.h"
#include "interpreter/tool_command/tool_command.h"
#include "protocol/run_description.h"

#define SIGNAL_BASE 128

static bool is_distant;

/* All is said. */
static _Noreturn void leave(int status)
{
    output_flush_all();
    if (is_distant)
        input_await_taken();
    _exit(status);
}

static _Noreturn void fail(const char *what)
{
    output_put(GUEST_FAILED, what, strlen(what));
    leave(1);
}

/* A descriptor that reports the ends of children. A signal to the first process of a namespace that
 * it has no handler for is dropped, as that for a broken pipe. */
static int open_children(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    if (sigprocmask(SIG_SETMASK, &signals, NULL) < 0)
        return -1;
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* So that the guest's own never have the numbers of an interpreter's. */
static bool take_inherited_numbers(void)
{
    for (int i = 0; i < GUEST_INHERITED; i++)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) != STDERR_FILENO + 1 + i)
            return false;
    return true;
}

/* gVisor takes no number of a descriptor that is none. */
static bool protect(void)
{
    (void)umask(022);
    return syscall(SYS_close_range, STDERR_FILENO + 1, INT_MAX, 0) == 0 &&
           take_inherited_numbers() && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* 0 is no limit. */
static bool set_limit(int which, const char *number, rlim_t more)
{
    char *end;
    rlim_t most = strtoul(number, &end, 10);
    const struct rlimit limit = {most, most + more};
    return *end == '\0' && (most == 0 || setrlimit(which, &limit) == 0);
}

/* Of the guest, and so of every program. No file of a dead process, and no program of a
 * core_pattern either, which 0 would start. */
static bool set_limits(char *const *numbers)
{
    return set_limit(RLIMIT_CORE, "1", 0) && set_limit(RLIMIT_NOFILE, numbers[0], 0) &&
           set_limit(RLIMIT_CPU, numbers[1], 1);
}

static void take_end_of_message(void)
{
    if (!input_take_end())
        fail("read the end of the run's message");
}

static int take_program_input(const struct guest_run *run, struct guest_session *session)
{
    if (run->session) {
        int cells = session_open(session);
        if (cells < 0)
            fail("open the socket of cells");
        take_end_of_message();
        return cells;
    }
    CLEANUP_CLOSE int fd =
        run->has_input ? input_make_file() : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (run->has_input && (!input_take_stdin(fd) || !input_seal_file(fd))))
        fail("write the standard input");
    take_end_of_message();
    return TAKE_FD(fd);
}

static _Noreturn void answer_trial(void)
{
    struct guest_end end = {.wait_status = 0};
    unsigned char bytes[sizeof(end)];
    struct wire_writer writer = {.bytes = bytes, .capacity = sizeof(bytes), .limit = sizeof(bytes)};
    guest_end_write(&writer, &end);
    output_put(GUEST_STARTED, NULL, 0);
    output_put(GUEST_ENDED, writer.bytes, writer.length);
    leave(0);
}

static void start(const struct guest_run *run, struct guest_session *session,
                  struct guest_program *ret)
{
    const char *problem;
    CLEANUP_CLOSE int input = take_program_input(run, session);
    switch (start_program(run, input, ret, &problem)) {
    case START_DONE:
        if (run->trial)
            answer_trial();
        if (run->session)
            session_add(session, ret->pid);
        break;
    case START_MISSING:
        output_put(GUEST_MISSING, NULL, 0);
        leave(1);
    case START_FAILED:
        fail(problem);
    }
}

static void give_to_interpreter(struct guest_interpreter *interpreter, const struct guest_run *run)
{
    if (run->has_input &&
        (!input_take_stdin(interpreter->input) || !input_seal_file(interpreter->input)))
        fail("write the standard input");
    take_end_of_message();
    if (run->has_tools && !tools_are_open())
        fail(TOOLS_NEED_DESCRIPTORS);
    if (!run->has_tools)
        tools_drop();
    if (!interpreter_hand_over(interpreter, run))
        fail("hand the run to the interpreter that waits");
}

static void begin_program(struct guest_interpreter *interpreter, struct guest_session *session,
                          struct guest_program *ret, struct guest_files *ret_files)
{
    struct guest_run run;
    if (!input_take_head(&run) || !installers_add(&run))
        fail("read the message of the run");
    const char *problem = files_take(&run, ret_files);
    if (!problem && run.has_endpoints && !endpoints_open())
        problem = "listen for connections to endpoints";
    if (problem)
        fail(problem);
    if (interpreter->program.pid) {
        give_to_interpreter(interpreter, &run);
        *ret = interpreter->program;
        if (!run.has_results)
            close_fd(TAKE_FD(ret->outputs[PROGRAM_RESULTS]));
    } else {
        start(&run, session, ret);
    }
    guest_run_clear(&run);
}

/* Where the program has ended badly, the guest ends too, so that the engine says whether that was
 * for want of memory. Else it waits for the removal of its container, which the engine reports
 * only later. */
static _Noreturn void report_end(const struct guest_end *end, const struct guest_files *files,
                                 bool ordered)
{
    unsigned char bytes[sizeof(*end)];
    struct wire_writer writer = {.bytes = bytes, .capacity = sizeof(bytes), .limit = sizeof(bytes)};
    int status = (int)end->wait_status;
    guest_end_write(&writer, end);
    output_put(GUEST_ENDED, writer.bytes, writer.length);
    output_flush_all();
    files_send(files, ordered);
    if (WIFSIGNALED(status))
        leave(SIGNAL_BASE + WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        leave(WEXITSTATUS(status));
    input_await_end();
    _exit(0);
}

/* The shell opens its streams by their names in /proc. */
static int be_in_front_of_shell(char **arguments)
{
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return 1;
    return shell_session(arguments[0], &arguments[1]);
}

static enum landlock_network network_of(const char *word)
{
    if (strcmp(word, GUEST_WITH_ENDPOINTS) == 0)
        return LANDLOCK_NETWORK_ENDPOINTS;
    return strcmp(word, GUEST_WITH_NETWORK) == 0 ? LANDLOCK_NETWORK_ALL : LANDLOCK_NETWORK_NONE;
}

int main(int argument_count, char **arguments)
{
    struct guest_interpreter interpreter = {.program = {.pid = 0}, .told = -1};
    struct guest_program program;
    struct guest_session session = {.count = 0, .late = {-1, -1}};
    struct guest_files files;
    if (argument_count > 0 && guest_is_tool_command(arguments[0]))
        return tool_command(argument_count, arguments);
    if (argument_count > 0 && installer_command_is(arguments[0]))
        return installer_command(argument_count, arguments);
    if (argument_count > 3 && strcmp(arguments[1], START_SHELL) == 0)
        return be_in_front_of_shell(&arguments[2]);
    if (getpid() != 1 || argument_count < 2) {
        (void)fprintf(stderr, "%s is the first process of a container, and of nothing else\n",
                      arguments[0]);
        return 1;
    }
    layers_choose(network_of(arguments[1]));
    is_distant =
        argument_count >= 2 + GUEST_DISTANT_ARGUMENTS && strcmp(arguments[2], GUEST_DISTANT) == 0;
    int interpreter_at = is_distant ? 2 + GUEST_DISTANT_ARGUMENTS : 2;
    bool is_ready = !is_distant || (set_limits(arguments + 3) && facts_take_digest());
    int children = is_ready && protect() && chdir(RUN_HOME) == 0 ? open_children() : -1;
    if (children < 0) {
        (void)fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
        return 1;
    }
    output_open();
    char peer[GUEST_PEER_SIZE] = "";
    if (is_distant && !input_await_call(peer))
        fail("hear the backend's call");
    if (!facts_send())
        fail("read /proc/self/status");
    if (peer[0] != '\0')
        network_try(peer);
    const char *problem = argument_count > interpreter_at
                              ? interpreter_start(arguments + interpreter_at, &interpreter)
                              : NULL;
    if (problem)
        fail(problem);
    output_put(GUEST_WAITING, NULL, 0);
    output_flush_all();
    if (!input_await(interpreter.told))
        fail("the interpreter that waited has ended");
    begin_program(&interpreter, &session, &program, &files);
    output_put(GUEST_STARTED, NULL, 0);
    output_flush();
    bool ordered;
    const struct guest_end end = relay_until_end(&program, &session, children, &ordered);
    report_end(&end, &files, ordered);
}
