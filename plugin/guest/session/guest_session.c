/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the orders and cells of a session: see guest_session.h. Runs in the guest. */
#include "guest/session/guest_session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "base/write_fully.h"
#include "guest/channels/guest_endpoints.h"
#include "guest/channels/guest_tools.h"
#include "guest/files/collection.h"
#include "guest/files/guest_files.h"
#include "guest/files/stop_tree.h"
#include "guest/messages/guest_input.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_time.h"
#include "guest/program/guest_program.h"
#include "guest/program/guest_tool_command.h"
#include "guest/session/guest_cell.h"
#include "guest/session/guest_oom.h"

static struct guest_files files; /* of the last cell */
static struct known_files known; /* of the cells before */

int session_open(struct guest_session *session)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    if (shutdown(pair[1], SHUT_WR) == 0) { /* nothing is to come out of it */
        session->programs[session->count].cells = pair[0];
        return pair[1];
    }
    close_fd(pair[0]);
    close_fd(pair[1]);
    return -1;
}

void session_add(struct guest_session *session, pid_t pid)
{
    session->programs[session->count++].pid = pid;
}

bool session_has(const struct guest_session *session, pid_t pid)
{
    for (size_t i = 0; i < session->count; i++)
        if (session->programs[i].pid == pid)
            return true;
    return false;
}

static void close_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close_fd(TAKE_FD(fds[i]));
}

/* New streams; those that the program has had are late from now on. */
static void renew_streams(struct guest_session *session, struct guest_program *program,
                          int fds[GUEST_CELL_FDS])
{
    close_all(session->late, SESSION_LATE);
    session->late[SESSION_LATE_STDOUT] = program->outputs[PROGRAM_STDOUT];
    session->late[SESSION_LATE_STDERR] = program->outputs[PROGRAM_STDERR];
    for (int i = 0; i < PROGRAM_OUTPUTS; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
            _exit(1);
        program->outputs[i] = ends[0];
        fds[GUEST_CELL_STDOUT + i] = ends[1];
    }
}

static bool write_head(int fd, const struct guest_run *run, const char *problem)
{
    struct wire_writer writer = {.limit = (size_t)2 * GUEST_HEAD_LIMIT};
    wire_put_strings(&writer, run->argv);
    wire_put_strings(&writer, run->environment);
    wire_put_u32(&writer, run->lasting);
    wire_put_bytes(&writer, problem ? problem : "", problem ? strlen(problem) : 0);
    bool written = !writer.failed && write_fully(fd, writer.bytes, writer.length);
    if (writer.bytes)
        explicit_bzero(writer.bytes, writer.length);
    free(writer.bytes);
    return written;
}

static void take_head(struct guest_run *ret)
{
    if (!input_take_head(ret))
        _exit(1);
}

/* Where the kernel ends the copy no later than the cell, its word says so. */
static enum checkpoint_word make_checkpoint(struct guest_session *session, size_t number,
                                            pid_t interpreter, size_t limit)
{
    bool is_wanted = number == 0 && limit > 0;
    bool is_last = is_wanted && guest_oom_before_copy(interpreter);
    enum checkpoint_word word =
        guest_checkpoints_make(&session->checkpoints, session->programs[number].cells, interpreter,
                               number == 0 ? limit : 0);
    is_last = is_wanted && guest_oom_behind_copy(interpreter) && is_last;
    return word == CHECKPOINT_TAKEN && !is_last ? CHECKPOINT_EXPOSED : word;
}

/* What the backend has sent for it is taken whole: whatever cannot be written is the cell's
 * failure. A cell that the interpreter does not get is seen by its end. */
static void take_cell(struct guest_session *session, size_t number, struct guest_program *program)
{
    int fds[GUEST_CELL_FDS] = {[0 ... GUEST_CELL_FDS - 1] = -1};
    struct guest_run run;
    take_head(&run);
    /* Nobody wants more of the last cell's: an interpreter that is still writing there would wait
     * for us while we wait for its checkpoint. */
    close_fd(TAKE_FD(program->outputs[PROGRAM_RESULTS]));
    (void)kill(-1, SIGCONT);
    enum checkpoint_word word = make_checkpoint(session, number, program->pid, run.checkpoints);
    session->has_cell = true;
    files_clear(&files);
    fds[GUEST_CELL_CODE] = input_make_file();
    fds[GUEST_CELL_HEAD] = input_make_file();
    fds[GUEST_CELL_STDIN] =
        run.has_input ? input_make_file() : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[GUEST_CELL_CODE] < 0 || fds[GUEST_CELL_HEAD] < 0 || fds[GUEST_CELL_STDIN] < 0)
        _exit(1);
    const char *problem = files_take_cell(&run, fds[GUEST_CELL_CODE], &files);
    if (run.has_input &&
        (!input_take_stdin(fds[GUEST_CELL_STDIN]) || !input_seal_file(fds[GUEST_CELL_STDIN])))
        _exit(1);
    size_t count = string_list_count(run.paths);
    size_t refused;
    if (!input_take_cell_end(count, &refused))
        _exit(1);
    if (refused < count)
        problem = files_refuse(run.paths[refused]);
    if (!write_head(fds[GUEST_CELL_HEAD], &run, problem))
        _exit(1);
    bool has_tools = run.has_tools != 0;
    guest_run_clear(&run);
    renew_streams(session, program, fds);
    tools_forget();
    if (has_tools && (fds[GUEST_CELL_ANSWERS] = tools_open()) < 0)
        _exit(1);
    output_put(GUEST_CELL, NULL, 0);
    session->current = number;
    (void)send_fds(session->programs[number].cells, (char)(GUEST_CELL_WORDS + word), fds,
                   has_tools ? GUEST_CELL_FDS : GUEST_CELL_ANSWERS);
    close_all(fds, GUEST_CELL_FDS);
}

/* Nobody reads what its start prints. */
static void start_further(struct guest_session *session, const struct guest_run *run)
{
    struct guest_program program;
    const char *problem = "open the socket of cells";
    enum start_outcome outcome = START_FAILED;
    CLEANUP_CLOSE int input = session_open(session);
    if (input >= 0)
        outcome = start_program(run, input, &program, &problem);
    if (outcome == START_DONE) {
        close_all(program.outputs, PROGRAM_OUTPUTS);
        session_add(session, program.pid);
        guest_checkpoints_forget(&session->checkpoints);
        output_put(GUEST_STARTED, NULL, 0);
        return;
    }
    if (input >= 0)
        close_fd(session->programs[session->count].cells);
    if (outcome == START_MISSING)
        output_put(GUEST_MISSING, run->argv[0], strnlen(run->argv[0], NAME_MAX));
    else
        output_put(GUEST_FAILED, problem, strlen(problem));
}

static void take_program(struct guest_session *session)
{
    struct guest_run run;
    take_head(&run);
    (void)kill(-1, SIGCONT);
    const char *problem = files_take_further(&run);
    if (run.has_input || !run.session || !input_take_end() || !installers_add(&run) ||
        session->count == SESSION_PROGRAMS_MOST)
        _exit(1);
    if (problem)
        output_put(GUEST_FAILED, problem, strlen(problem));
    else
        start_further(session, &run);
    guest_run_clear(&run);
}

static void collect(const struct guest_session *session, bool haste)
{
    struct guest_run run;
    pid_t pids[SESSION_PROGRAMS_MOST];
    for (size_t i = 0; i < session->count; i++)
        pids[i] = session->programs[i].pid;
    take_head(&run);
    if (!input_take_end())
        _exit(1);
    files_send_changed(&files, &run.outputs, &known, pids, session->count, haste);
    guest_run_clear(&run);
}

/* 0: none is awake. */
static void set_interpreter(struct guest_session *session, struct guest_program *program, pid_t pid)
{
    program->pid = session->programs[0].pid = pid; /* there is no other one */
    session->has_cell = false;
    tools_forget();
}

/* false: it could not be woken. */
static bool go_on_as(struct guest_session *session, struct guest_program *program, pid_t pid)
{
    set_interpreter(session, program, pid);
    if (pid == 0)
        return false;
    files_note(&known);
    session->is_restored = true;
    return true;
}

bool session_restore(struct guest_session *session, struct guest_program *program, size_t cells)
{
    return guest_checkpoints_lead_back(&session->checkpoints, cells) &&
           go_on_as(session, program, guest_checkpoints_restore(&session->checkpoints, cells));
}

/* true: it has no interpreter any more. */
static bool undo(struct guest_session *session, struct guest_program *program, size_t cells)
{
    if (guest_checkpoints_lead_back(&session->checkpoints, cells))
        return !session_restore(session, program, cells);
    output_put(GUEST_NOT_RESTORED, NULL, 0);
    return false;
}

static void park(struct guest_session *session, struct guest_program *program, size_t branch)
{
    close_fd(TAKE_FD(program->outputs[PROGRAM_RESULTS])); /* as ahead of a cell */
    (void)kill(-1, SIGCONT);
    /* The one that sleeps is kept longer than whatever runs in its place. */
    (void)guest_oom_before_copy(program->pid);
    const unsigned char word = (unsigned char)guest_checkpoints_park(
        &session->checkpoints, session->programs[0].cells, program->pid, branch);
    (void)guest_oom_behind_copy(program->pid);
    output_put(GUEST_PARKED, &word, sizeof(word));
}

/* true: it has no interpreter any more. */
static bool wake(struct guest_session *session, struct guest_program *program, size_t branch)
{
    session->restored.wait_status = SIGKILL;
    if (guest_checkpoints_can_wake(&session->checkpoints, branch))
        return !go_on_as(session, program, guest_checkpoints_wake(&session->checkpoints, branch));
    output_put(GUEST_NOT_RESTORED, NULL, 0);
    return false;
}

static void drop(struct guest_session *session, struct guest_program *program, size_t branch)
{
    if (guest_checkpoints_drop(&session->checkpoints, branch))
        set_interpreter(session, program, 0);
}

/* Is it that order, with a number up to the highest? */
static bool has_number(unsigned char order, unsigned char kind, size_t highest, size_t *ret)
{
    *ret = (size_t)order - kind;
    return order >= kind && *ret <= highest;
}

/* Those with a number. true: it has no interpreter any more. */
static bool take_numbered(struct guest_session *session, struct guest_program *program,
                          unsigned char order)
{
    size_t number;
    if (has_number(order, GUEST_ORDER_PARK, SESSION_BRANCHES_MOST - 1, &number)) {
        park(session, program, number);
        return false;
    }
    if (has_number(order, GUEST_ORDER_WAKE, SESSION_BRANCHES_MOST - 1, &number))
        return wake(session, program, number);
    if (has_number(order, GUEST_ORDER_DROP, SESSION_BRANCH_AWAKE, &number)) {
        drop(session, program, number);
        return false;
    }
    if (!has_number(order, GUEST_ORDER_UNDO_CELLS, CHECKPOINTS_MOST, &number) || number == 0)
        _exit(1);
    session->restored.wait_status = SIGKILL;
    return undo(session, program, number);
}

/* All branches may sleep. */
static void interrupt(const struct guest_session *session)
{
    pid_t pid = session->programs[session->current].pid;
    if (pid > 0)
        (void)kill(pid, SIGINT);
}

bool session_take_order(struct guest_session *session, struct guest_program *program)
{
    char order = '\0';
    if (tools_are_coming()) {
        tools_take_more();
        return false;
    }
    if (endpoints_are_coming()) {
        endpoints_take_more();
        return false;
    }
    if (read(STDIN_FILENO, &order, sizeof(order)) != sizeof(order))
        _exit(1);
    size_t number = (size_t)(unsigned char)order - GUEST_ORDER_CELL;
    if (number < session->count) {
        take_cell(session, number, program);
        return false;
    }
    switch (order) {
    case GUEST_ORDER_END:
        return true;
    case GUEST_ORDER_PROGRAM:
        take_program(session);
        break;
    case GUEST_ORDER_INTERRUPT:
        interrupt(session);
        break;
    case GUEST_ORDER_STOP:
        (void)kill(-1, SIGSTOP);
        break;
    case GUEST_ORDER_COLLECT:
    case GUEST_ORDER_COLLECT_HASTE:
        collect(session, order == GUEST_ORDER_COLLECT_HASTE);
        break;
    case GUEST_ORDER_MEASURE:
        time_ask();
        break;
    case GUEST_ORDER_ANSWERS:
        tools_take_order();
        break;
    case GUEST_ORDER_ENDPOINTS:
        endpoints_take_order();
        break;
    case GUEST_ORDER_UNDO: /* it may just have been undone by itself */
        session->restored.wait_status = SIGKILL;
        return session->has_cell && undo(session, program, 1);
    default:
        return take_numbered(session, program, (unsigned char)order);
    }
    return false;
}
