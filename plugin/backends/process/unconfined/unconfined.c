/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the subreaper of an unconfined run, what it starts and what it kills: see unconfined.h. */
#include "backends/process/unconfined/unconfined.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/common/descriptor_limit.h"
#include "backends/process/program/main_program.h"
#include "backends/process/program/program.h"
#include "backends/process/sandbox/directories.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "guest/files/collection.h"
#include "protocol/wire.h"

#define REPORT_FD  3
#define TREE_DEPTH 64

static FILE *open_children(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return fopen(path, "re");
}

static void signal_tree(pid_t pid, int signal, int depth)
{
    int child;
    (void)kill(pid, signal);
    CLEANUP_FILE FILE *file = depth > 0 ? open_children(pid) : NULL;
    while (file && fscanf(file, "%d", &child) == 1)
        signal_tree(child, signal, depth - 1);
}

/* Signals the trees of all children that are not spared, and reaps those that have ended. */
static bool signal_children(int signal, bool (*is_spared)(pid_t pid, void *user), void *user)
{
    bool found = false;
    int child;
    CLEANUP_FILE FILE *file = open_children(getpid());
    while (file && fscanf(file, "%d", &child) == 1) {
        if (is_spared(child, user))
            continue;
        found = true;
        if (waitpid(child, NULL, WNOHANG | __WALL) == 0)
            signal_tree(child, signal, TREE_DEPTH);
    }
    return found;
}

bool orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user)
{
    bool found = signal_children(SIGSTOP, is_spared, user);
    return !signal_children(SIGKILL, is_spared, user) && !found;
}

/* A failure is reported and ends the process. */
static void write_files(const struct run_description *description, const char *path)
{
    CLEANUP_CLOSE int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct run_files files = {.directory = directory, .inputs = UNCONFINED_INPUTS_FD};
    if (directory < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "write files");
    if (write_run_files(&files, description) < 0)
        main_program_fail(REPORT_FD, files.failure ? files.failure : RUN_FAILURE_INTERNAL, errno,
                          files.failure ? files.refused : "write files");
    close_fd(UNCONFINED_INPUTS_FD);
}

/* The child that becomes the program. */
static _Noreturn void become_program(const struct run_description *description,
                                     const char *directory, int report)
{
    static const struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    struct program program;
    const struct program_places places = {.home = directory, .temporary = directory};
    if (program_find(&program, description, &places) < 0 ||
        program_add_runner(&program, description, interpreter_files_directory()) < 0)
        program_report_missing(report, description);
    const int kept[] = {report, REPORT_FD, RUN_RESULTS_FD};
    size_t kept_count = COUNT_OF(kept) - (description->results ? 0 : 1);
    if (program_close_other_descriptors(kept, kept_count) < 0 ||
        setrlimit(RLIMIT_CORE, &no_core) < 0 || descriptor_limit_restore() < 0 || setsid() < 0 ||
        chdir(directory) < 0)
        main_program_fail(report, RUN_FAILURE_INTERNAL, errno, "prepare the program");
    (void)umask(022);
    const struct isolation_report nothing = {.applied = 0};
    program_execute(&program, description, report, REPORT_FD, &nothing);
}

static bool spare_none(pid_t pid, void *user)
{
    (void)pid;
    (void)user;
    return false;
}

/* Until no child is left; orphans become children of this process. */
static void kill_tree(void)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        (void)orphans_kill(spare_none, NULL);
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return;
        (void)nanosleep(&pause, NULL);
    }
}

/* home was opened before the program could exchange it. The supervisor gives this process little
 * time to end before it hears that the tree is gone. */
static void hand_over_files(const struct run_description *description, int home)
{
    const struct report gone = {.kind = REPORT_TREE_GONE};
    int frames = UNCONFINED_FILES_FD;
    const struct collection_order order = {&description->outputs, description->files,
                                           description->file_count, false, NULL};
    const struct file_frame_sink sink = file_frames_to_pipe(&frames);
    if (description->outputs.files > 0 && report_send(REPORT_FD, &gone))
        collect_files(home, &order, &sink);
}

_Noreturn void unconfined_keep(struct run_description *description, const char *directory)
{
    struct main_program program;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "become subreaper");
    write_files(description, directory);
    int home = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "open the working directory");
    if (main_program_fork(&program) < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "fork");
    if (program.pid == 0)
        become_program(description, directory, program.start_report);
    close_fd(RUN_RESULTS_FD);
    strings_wipe_free(description->environment);
    struct report ended;
    bool by_itself = main_program_watch(&program, REPORT_FD, &ended);
    if (by_itself)
        (void)report_send(REPORT_FD, &ended);
    kill_tree();
    if (by_itself)
        hand_over_files(description, home);
    remove_tree(directory);
    _exit(0);
}
