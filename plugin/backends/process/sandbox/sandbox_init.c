/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the first process of a sandbox, its init: it puts on the layers of its blueprint, starts the
 * payload and waits for the end. Runs after the clone, without exec; single-threaded. It serves one
 * run, whose description it never sees.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/program/main_program.h"
#include "backends/process/program/single_process_fast_path.h"
#include "backends/process/program/whole_tree.h"
#include "backends/process/sandbox/cell_files.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/own_directory.h"
#include "backends/process/sandbox/rehearsed_run.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/session_program.h"
#include "base/cleanup.h"
#include "guest/files/collection.h"
#include "protocol/channel.h"

#define REPORT_FD 3

/* Waits until the supervisor has written the id maps and made the control groups. */
static bool wait_for_go(struct sandbox *sandbox)
{
    int fds[SANDBOX_GO_FDS];
    size_t count;
    ssize_t received;
    do
        received = channel_receive(REPORT_FD, &sandbox->go, sizeof(sandbox->go), fds,
                                   SANDBOX_GO_FDS, &count);
    while (received < 0 && errno == EINTR);
    errno = received < 0 ? errno : EBADMSG;
    if (received != sizeof(sandbox->go) || sandbox->go.group_count > SANDBOX_GROUPS ||
        count != sandbox->go.group_count + sandbox->go.has_intake)
        return false;
    memcpy(sandbox->groups, fds, sandbox->go.group_count * sizeof(*fds));
    if (sandbox->go.has_intake)
        sandbox->intake = fds[sandbox->go.group_count];
    return true;
}

/* Kills the processes that the main program has left behind; orphans are children of this process.
 * The supervisor can then answer, however long the kernel takes to free the namespaces. */
static void end_tree(struct report *ended)
{
    struct rusage usage;
    if (!whole_tree_is_alone()) /* "all processes" would be others' */
        return;
    /* Usually none is left, and kill(2) would go through every process of the machine. */
    pid_t pid = waitpid(-1, NULL, __WALL | WNOHANG);
    if (pid >= 0 || errno != ECHILD) {
        whole_tree_kill();
        while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
            ;
    }
    if (errno != ECHILD || getrusage(RUSAGE_CHILDREN, &usage) < 0)
        return;
    ended->tree_is_gone = true;
    ended->usage = tree_usage_of(&usage);
}

/* frames: the pipe to the gateway, which is closed at the last one. */
static void collect(const struct sandbox *sandbox, int message, int *frames, bool ordered)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    if (!run_read_description(message, &description))
        return;
    CLEANUP_CLOSE int home =
        open(sandbox->places.home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct collection_order collected = {&description.outputs, description.files,
                                               description.file_count, ordered, NULL};
    const struct file_frame_sink sink = file_frames_to_pipe(frames);
    if (home >= 0)
        collect_files(home, &collected, &sink);
}

/* Nothing that could change a file is left: at most a process that was killed while the kernel held
 * its call, which goes through no further instruction. The supervisor knows the end by now and
 * waits for none of this. */
static void hand_over_files(const struct sandbox *sandbox, bool ordered)
{
    char order;
    int fds[2] = {-1, -1};
    size_t count = 0;
    ssize_t received;
    do
        received = channel_receive(REPORT_FD, &order, sizeof(order), fds, COUNT_OF(fds), &count);
    while (received < 0 && errno == EINTR);
    CLEANUP_CLOSE int message = fds[0];
    CLEANUP_CLOSE int frames = fds[1];
    if (received == sizeof(order) && order == SANDBOX_COLLECT && count == COUNT_OF(fds))
        collect(sandbox, message, &frames, ordered);
}

/* In a copy that waits, of the home that is empty yet: the gateway waits for the files of its run,
 * and these pages are then this process's own. Best effort. Not where a run is there. */
static void rehearse_files(const struct sandbox *sandbox)
{
    static const unsigned char code[] = "pass\n";
    struct pollfd run = {.fd = REPORT_FD, .events = POLLIN};
    int ends[2];
    if (poll(&run, 1, 0) != 0)
        return;
    CLEANUP_CLOSE int message = rehearsed_run(code, sizeof(code) - 1);
    if (message < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return;
    CLEANUP_CLOSE int write_end = ends[1];
    collect(sandbox, message, &write_end, false);
    close_fd(ends[0]);
}

/* Waits until the supervisor has answered and closes its end, and for the gateway to have heard it:
 * the kernel's work at the end of this process would keep a processor from them for a millisecond.
 */
static void await_dismissal(void)
{
    static const struct timespec turn = {.tv_nsec = 1000000};
    char nothing;
    while (recv(REPORT_FD, &nothing, sizeof(nothing), 0) < 0 && errno == EINTR)
        ;
    (void)nanosleep(&turn, NULL);
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

/* Where the program was killed as the last of its tree, the guardian is left. To kill "all
 * processes" instead, the kernel would go through every one of the machine. */
static void end_guardian(pid_t guardian, pid_t killed)
{
    if (guardian <= 0 || waitpid(guardian, NULL, __WALL | WNOHANG) != 0)
        return;
    (void)kill(guardian, SIGKILL);
    reap(guardian);
    reap(killed);
}

/* Only the init of a copied interpreter resets its handlers; the payload keeps them. */
static void forget_signal_handlers(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
}

/* Also of one whose supervisor has ended, or which never began. */
static void leave_nothing(const struct sandbox *sandbox)
{
    struct report unsent;
    if (sandbox->blueprint->dies_with_init)
        return;
    end_tree(&unsent);
    if (sandbox->directory)
        own_directory_remove(sandbox->directory);
}

static _Noreturn void see_to_its_end(const struct sandbox *sandbox, struct main_program *program)
{
    struct report ended;
    if (main_program_watch(program, REPORT_FD, &ended)) {
        ended.scratch_full |= program->scratch_is_full && program->scratch_is_full();
        if (!ended.tree_is_gone)
            end_tree(&ended);
        supervision_report(&program->supervision, &ended);
        (void)report_send(REPORT_FD, &ended);
        if (ended.kind == REPORT_ENDED && ended.tree_is_gone) {
            hand_over_files(sandbox, ended.ordered != 0);
            await_dismissal();
            end_guardian(sandbox->guardian, program->pid);
        }
    }
    leave_nothing(sandbox);
    /* The rest of the namespaces ends with this process. */
    _exit(0);
}

/* A session's cells, whichever layers are around them. */
static void serve_sessions(const struct sandbox *sandbox, struct main_program *program)
{
    program->collect_cell = cell_files_collect;
    program->note_files = cell_files_note;
    program->add_program = session_program_add;
    cell_files_init(sandbox->places.home);
    session_program_init(sandbox);
}

/* What a sandbox with a file view of its own does beyond others. */
static void serve_copies(const struct sandbox *sandbox, struct main_program *program, int loadavg)
{
    program->checkpoints.order.proc = sandbox->proc;
    program->checkpoints.needs_order = sandbox->isolation.cgroup_has_memory;
    program->scratch_is_full = scratch_is_full;
    program->loadavg = loadavg;
    program->memory_is_counted = sandbox->isolation.cgroup_has_memory && sandbox->go.tells_peak;
}

/* What the kernel does not do for a sandbox without namespaces. A copy's end takes no short way:
 * the last pid of a namespace that others are in as well tells nothing. */
static void supervise(const struct sandbox *sandbox, struct main_program *program)
{
    program->supervision.inheritance = sandbox->inheritance;
    program->supervised = sandbox->directory;
    program->supervision.spared = sandbox->guardian;
    program->supervision.input_bytes = sandbox->go.input_bytes;
    program->supervision.bytes_of_socket = supervision_bytes_of_socket();
    program->checkpoints.looks = true;
    /* Where the machine's memory runs out a checkpoint is no better than what it is of: it may be
     * larger than the gateway, whose score it would have. */
    program->checkpoints.needs_order = sandbox->isolation.cgroup_has_memory;
    if (program->checkpoints.needs_order)
        program->checkpoints.order.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    program->home = open(sandbox->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (program->home < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "open the run's directory");
}

void sandbox_use_directory(struct sandbox *sandbox, const char *directory)
{
    static char home[PATH_MAX];
    static char temporary[PATH_MAX];
    static char installers[PATH_MAX];
    sandbox->places = program_mounted_places;
    sandbox->files = INTERPRETER_FILES_VIEW;
    sandbox->installers = INTERPRETER_FILES_VIEW "/" INSTALLERS;
    sandbox->directory = NULL;
    if (!directory[0])
        return;
    (void)snprintf(home, sizeof(home), "%s/" RUN_HOME_NAME, directory);
    (void)snprintf(temporary, sizeof(temporary), "%s/" RUN_TEMPORARY_NAME, directory);
    sandbox->places = (struct program_places){.home = home, .temporary = temporary};
    sandbox->files = interpreter_files_directory();
    sandbox->installers = NULL;
    if (sandbox->files && (size_t)snprintf(installers, sizeof(installers), "%s/" INSTALLERS,
                                           sandbox->files) < sizeof(installers))
        sandbox->installers = installers;
    sandbox->directory = directory;
}

static void begin(const struct sandbox_template *template, const struct seccomp_filters *filters,
                  const struct namespaces *outside, const char *directory, struct sandbox *ret)
{
    *ret = (struct sandbox){
        .blueprint = blueprint_of(template->isolation),
        .template = template,
        .filters = filters,
        .outside = outside,
        .isolation = {.missing = blueprint_of(template->isolation)->impossible_layers},
        .report = REPORT_FD,
        .intake = -1,
        .inputs = -1,
        .view = -1,
        .listener = -1,
        .proc = -1,
    };
    sandbox_use_directory(ret, directory);
}

void sandbox_init(const struct sandbox_template *template, const struct seccomp_filters *filters,
                  const struct namespaces *outside, const char *directory,
                  void (*begin_payload)(int supervisor), struct sandbox *ret)
{
    struct sandbox sandbox;
    begin(template, filters, outside, directory, &sandbox);
    bool may_be_fast = template->interpreter.fork && sandbox.blueprint->dies_with_init;
    int loadavg = may_be_fast ? single_process_fast_path_open() : -1;
    if (!wait_for_go(&sandbox))
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "wait for the supervisor");
    if (sandbox_apply(&sandbox, &sandbox.blueprint->init) < 0)
        _exit(1);
    /* Only now: a change of credentials clears it. One that must live to kill its tree sees the end
     * of the supervisor by its socket. */
    if (sandbox.blueprint->dies_with_init)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct main_program program;
    if (main_program_fork(&program) < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "fork");
    if (program.pid != 0) {
        program.is_filtered = true;
        serve_sessions(&sandbox, &program);
        if (sandbox.template->interpreter.fork) {
            forget_signal_handlers();
            program.may_ask = true;
            rehearse_files(&sandbox);
        }
        if (sandbox.directory)
            supervise(&sandbox, &program);
        else
            serve_copies(&sandbox, &program, loadavg);
        see_to_its_end(&sandbox, &program);
    }
    sandbox.report = program.start_report;
    sandbox.supervisor = REPORT_FD;
    if (begin_payload)
        begin_payload(sandbox.supervisor);
    payload_run(&sandbox);
    *ret = sandbox;
}
