/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handing runs to backends, which are started when they are needed. Runs in the gateway, on any
 * thread inside tool_invoke(), tool_prepare(), tool_status() or tool_shutdown().
 */
#include "run/backend_client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/deadline.h"
#include "program/backend_program.h"
#include "protocol/channel.h"
#include "protocol/session.h"
#include "protocol/session_cell.h"

#define ANSWER_TIMEOUT_MS 250
/* The most that may lie unread before the plugin stops asking a backend that does not read. The
 * rest of the socket's room is for runs. */
#define UNREAD_LIMIT 16384

struct backend {
    pthread_mutex_t mutex;
    uint64_t generation; /* counts its starts */
    struct backend_program program;
};

/* Of each mode; only that of the first mode with its program is used. */
static struct backend backends[SANDBOX_MODE_COUNT] = {
    [0 ... SANDBOX_MODE_COUNT - 1] =
        {
            .mutex = PTHREAD_MUTEX_INITIALIZER,
            .program = BACKEND_PROGRAM_NONE,
        },
};

static struct backend *backend_of(enum sandbox_mode mode)
{
    size_t i = 0;
    while (strcmp(sandbox_mode_row((enum sandbox_mode)i)->program,
                  sandbox_mode_row(mode)->program) != 0)
        i++;
    return &backends[i];
}

static void unlock_backend(struct backend **backend)
{
    (void)pthread_mutex_unlock(&(*backend)->mutex);
}

void backend_run_close(struct backend_run *run)
{
    /* A child that the gateway forked may have a copy of the socket, so closing is not enough. */
    if (run->events >= 0)
        (void)shutdown(run->events, SHUT_RDWR);
    close_fd(TAKE_FD(run->events));
    close_fd(TAKE_FD(run->stdout_fd));
    close_fd(TAKE_FD(run->stderr_fd));
    close_fd(TAKE_FD(run->results_fd));
    close_fd(TAKE_FD(run->files_fd));
    close_fd(TAKE_FD(run->tools_fd));
}

static struct backend_run take_run(struct backend_run *run)
{
    struct backend_run taken = *run;
    *run = (struct backend_run)BACKEND_RUN_EMPTY;
    return taken;
}

bool backend_exists(enum sandbox_mode mode, struct error *error)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(mode);
    if (backend_program_exists(row->program))
        return true;
    error_set(error, ERROR_BACKEND_UNAVAILABLE,
              "the backend program %s is not next to code_execute.so", row->program);
    if (row->program_is_missing)
        error_set(error, ERROR_BACKEND_UNAVAILABLE, "%s", row->program_is_missing);
    error_set_hint(error, "%s", row->program_remedy);
    return false;
}

int backend_describe(const struct run_description *description, struct error *error)
{
    size_t length = 0;
    unsigned char *message = run_description_encode(description, &length);
    if (!message)
        return error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the run's description");
    int fd = sealed_message_open("code-execute-run", message, length, error);
    explicit_bzero(message, length);
    free(message);
    return fd;
}

int backend_output_pipe(int *ret_read, int *ret_write, struct error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                               "cannot create a pipe for the run's output");
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        int error_number = errno;
        close_fd(ends[0]);
        close_fd(ends[1]);
        return error_set_errno(error, ERROR_BACKEND_FAILED, error_number,
                               "cannot create a pipe for the run's output");
    }
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

/* For the streams that a run does not have. */
static int open_nowhere(struct error *error)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return fd >= 0 ? fd
                   : error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot open /dev/null");
}

/* Called with the mutex held. */
static int ensure_started(struct backend *backend, struct error *error)
{
    if (backend_program_is_ours(&backend->program))
        return 0;
    backend_program_forget(&backend->program);
    backend->generation++;
    enum sandbox_mode mode = (enum sandbox_mode)(backend - backends);
    return backend_program_start(sandbox_mode_row(mode)->program, &backend->program, error);
}

/* A backend that died since the last run is started once more; one that dies again is an error. */
static int send_run(struct backend *backend, const int fds[RUN_FD_COUNT], uint64_t *ret_generation,
                    struct error *error)
{
    CLEANUP(unlock_backend) struct backend *locked = backend;
    (void)pthread_mutex_lock(&locked->mutex);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (ensure_started(locked, error) != 0)
            return -1;
        if (backend_program_order(&locked->program, CONTROL_RUN, fds, RUN_FD_COUNT) == 0) {
            *ret_generation = locked->generation;
            return 0;
        }
        if (errno != EPIPE && errno != ECONNRESET)
            return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                                   "the backend does not accept the run");
        backend_program_forget(&locked->program);
    }
    return error_set(error, ERROR_BACKEND_FAILED, "the backend exits as soon as it starts");
}

/* The socket of which the payload takes them; the socket's buffer holds all. */
static int send_files(const struct run_input_fds *inputs, struct error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                               "cannot create a socket for the run's files");
    CLEANUP_CLOSE int ours = pair[0];
    CLEANUP_CLOSE int theirs = pair[1];
    const char order = CONTROL_RUN;
    for (size_t i = 0; i < inputs->file_count; i++)
        if (channel_send(ours, &order, sizeof(order), &inputs->files[i], 1) != 0)
            return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                                   "cannot hand over the run's files");
    return TAKE_FD(theirs);
}

/* The ends that a run's backend or a session's interpreter gets. */
struct given_ends {
    int memfd, stdout_write, stderr_write, results_write, files_write, files, tools, nowhere;
};

static void close_given(struct given_ends *ends)
{
    close_fd(ends->memfd);
    close_fd(ends->stdout_write);
    close_fd(ends->stderr_write);
    close_fd(ends->results_write);
    close_fd(ends->files_write);
    close_fd(ends->files);
    close_fd(ends->tools);
    close_fd(ends->nowhere);
}

/* For the answers to a program's calls of tools. No pipe: a write to one that nobody reads any more
 * would be a signal to the gateway. Nothing is to come out of it, no byte and no descriptor. */
static bool open_answers(int *ret_outer, int *ret_inner, struct error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                        "cannot create a socket for the run's tools");
        return false;
    }
    *ret_outer = pair[0];
    *ret_inner = pair[1];
    if (shutdown(pair[1], SHUT_WR) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot restrict the socket of the tools");
    return false;
}

/* As open_ends(). */
static bool open_streams(const struct run_description *description, struct backend_run *run,
                         struct given_ends *ret, struct error *error)
{
    return backend_output_pipe(&run->stdout_fd, &ret->stdout_write, error) == 0 &&
           backend_output_pipe(&run->stderr_fd, &ret->stderr_write, error) == 0 &&
           (!description->results ||
            backend_output_pipe(&run->results_fd, &ret->results_write, error) == 0);
}

static const struct given_ends no_ends = {-1, -1, -1, -1, -1, -1, -1, -1};

/* Those of ret that this makes are the caller's even where it fails. */
static bool open_ends(const struct run_description *description, const struct run_input_fds *inputs,
                      struct backend_run *run, struct given_ends *ret, struct error *error)
{
    *ret = no_ends;
    ret->nowhere = open_nowhere(error);
    if (ret->nowhere < 0)
        return false;
    ret->memfd = backend_describe(description, error);
    if (ret->memfd < 0)
        return false;
    if (!open_streams(description, run, ret, error))
        return false;
    ret->files = inputs->file_count > 0 ? send_files(inputs, error) : -1;
    if (ret->files < 0 && inputs->file_count > 0)
        return false;
    if (description->tools && !open_answers(&run->tools_fd, &ret->tools, error))
        return false;
    return description->outputs.files == 0 ||
           backend_output_pipe(&run->files_fd, &ret->files_write, error) == 0;
}

/* In the order of enum run_fd; events: the run's end of that socket. */
static void list_ends(const struct given_ends *ends, const struct run_input_fds *inputs, int events,
                      int ret[RUN_FD_COUNT])
{
    ret[RUN_FD_EVENTS] = events;
    ret[RUN_FD_DESCRIPTION] = ends->memfd;
    ret[RUN_FD_STDIN] = inputs->stdin_fd;
    ret[RUN_FD_STDOUT] = ends->stdout_write;
    ret[RUN_FD_STDERR] = ends->stderr_write;
    ret[RUN_FD_RESULTS] = ends->results_write >= 0 ? ends->results_write : ends->nowhere;
    ret[RUN_FD_FILES] = ends->files_write >= 0 ? ends->files_write : ends->nowhere;
    ret[RUN_FD_INPUTS] = ends->files >= 0 ? ends->files : ends->nowhere;
    ret[RUN_FD_TOOLS] = ends->tools >= 0 ? ends->tools : ends->nowhere;
    ret[RUN_FD_ENDPOINTS] = inputs->endpoints_fd >= 0 ? inputs->endpoints_fd : ends->nowhere;
}

bool backend_start_run(enum sandbox_mode mode, const struct run_description *description,
                       const struct run_input_fds *inputs, struct backend_run *ret,
                       struct error *error)
{
    CLEANUP(backend_run_close) struct backend_run run = BACKEND_RUN_EMPTY;
    CLEANUP_CLOSE int events = -1;
    CLEANUP(close_given) struct given_ends ends;
    int fds[RUN_FD_COUNT];
    int pair[2];
    if (!open_ends(description, inputs, &run, &ends, error))
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot create a socket for the run");
        return false;
    }
    run.events = pair[0];
    events = pair[1];
    list_ends(&ends, inputs, events, fds);
    if (send_run(backend_of(mode), fds, &run.generation, error) != 0)
        return false;
    *ret = take_run(&run);
    return true;
}

/* The supervisor makes those of a run its user's, so that /dev/stdout can be opened. It never sees
 * these, and nobody else has a name for them. */
static bool let_cell_open(const struct given_ends *ends, struct error *error)
{
    if (fchmod(ends->stdout_write, 0666) == 0 && fchmod(ends->stderr_write, 0666) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot let the cell open its output");
    return false;
}

/* Its message is to be wiped. NULL: it is not brief (protocol/session_cell.h), or there is no
 * memory. */
static unsigned char *describe_briefly(const struct run_description *description,
                                       const struct run_input_fds *inputs, size_t *ret_length)
{
    if (inputs->file_count > 0 || description->tools || !description->results ||
        description->outputs.files > 0)
        return NULL;
    unsigned char *message = run_description_encode(description, ret_length);
    if (!message || *ret_length <= SESSION_BRIEF_LIMIT)
        return message;
    explicit_bzero(message, *ret_length);
    free(message);
    return NULL;
}

static bool send_briefly(int cells, char kind, const struct run_description *description,
                         const unsigned char *message, size_t length, int stdin_fd,
                         struct backend_run *run, struct error *error)
{
    CLEANUP(close_given) struct given_ends ends = no_ends;
    if (!open_streams(description, run, &ends, error) || !let_cell_open(&ends, error))
        return false;
    const int streams[] = {stdin_fd, ends.stdout_write, ends.stderr_write, ends.results_write};
    if (session_cell_send_brief(cells, kind, message, length, streams) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot hand over the cell");
    return false;
}

static bool send_whole(int cells, char kind, const struct run_description *description,
                       const struct run_input_fds *inputs, struct backend_run *run,
                       struct error *error)
{
    CLEANUP(close_given) struct given_ends ends;
    int fds[RUN_FD_COUNT];
    if (!open_ends(description, inputs, run, &ends, error) || !let_cell_open(&ends, error))
        return false;
    list_ends(&ends, inputs, -1, fds);
    if (session_cell_send(cells, kind, &fds[RUN_FD_FIRST_INSIDE]) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot hand over the cell");
    return false;
}

bool backend_send_cell(int cells, const struct run_description *description,
                       const struct run_input_fds *inputs, struct backend_run *ret,
                       struct error *error)
{
    CLEANUP(backend_run_close) struct backend_run run = BACKEND_RUN_EMPTY;
    const char kind = description->session.checkpoints > 0 ? SESSION_CELL_CHECKPOINT : SESSION_CELL;
    size_t length = 0;
    unsigned char *message = describe_briefly(description, inputs, &length);
    bool sent = message ? send_briefly(cells, kind, description, message, length, inputs->stdin_fd,
                                       &run, error)
                        : send_whole(cells, kind, description, inputs, &run, error);
    if (message)
        explicit_bzero(message, length);
    free(message);
    if (sent)
        *ret = take_run(&run);
    return sent;
}

bool backend_send_program(int events, const struct session_order *order,
                          const struct run_description *description, int stdin_fd,
                          struct backend_run *ret, struct error *error)
{
    CLEANUP(backend_run_close) struct backend_run run = BACKEND_RUN_EMPTY;
    CLEANUP(close_given) struct given_ends ends;
    const struct run_input_fds inputs = {.stdin_fd = stdin_fd, .endpoints_fd = -1};
    int fds[RUN_FD_COUNT];
    if (!open_ends(description, &inputs, &run, &ends, error))
        return false;
    list_ends(&ends, &inputs, -1, fds);
    if (channel_send(events, order, sizeof(*order), &fds[RUN_FD_DESCRIPTION],
                     SESSION_PROGRAM_FDS) != 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot order another interpreter");
        return false;
    }
    *ret = take_run(&run);
    return true;
}

void backend_note_end(enum sandbox_mode mode, const struct backend_run *run)
{
    CLEANUP(unlock_backend) struct backend *locked = backend_of(mode);
    (void)pthread_mutex_lock(&locked->mutex);
    if (locked->generation == run->generation)
        backend_program_forget_ended(&locked->program);
}

void backend_give_up(enum sandbox_mode mode, const struct backend_run *run)
{
    CLEANUP(unlock_backend) struct backend *locked = backend_of(mode);
    (void)pthread_mutex_lock(&locked->mutex);
    if (locked->generation == run->generation)
        backend_program_kill(&locked->program);
}

static bool reads(int control)
{
    int unread = 0;
    return ioctl(control, SIOCOUTQ, &unread) == 0 && unread < UNREAD_LIMIT;
}

/* A thread that starts the backend holds the mutex for longer than a question may wait.
 * ThreadSanitizer does not know pthread_mutex_clocklock(). */
static bool lock_in_time(struct backend *backend, uint64_t deadline)
{
    while (pthread_mutex_trylock(&backend->mutex) != 0) {
        if (monotonic_ms() >= deadline)
            return false;
        (void)poll(NULL, 0, 1);
    }
    return true;
}

static enum pool_state send_question(struct backend *backend, char question, int answer,
                                     uint64_t deadline)
{
    if (!lock_in_time(backend, deadline))
        return POOL_SILENT;
    CLEANUP(unlock_backend) struct backend *locked = backend;
    int control = locked->program.control;
    if (!backend_program_is_ours(&locked->program))
        return POOL_STOPPED;
    if (!reads(control))
        return POOL_SILENT;
    if (channel_send(control, &question, sizeof(question), &answer, 1) == 0)
        return POOL_ANSWERED;
    return errno == EPIPE || errno == ECONNRESET ? POOL_STOPPED : POOL_SILENT;
}

/* The length of the answer; 0: there is none in time. */
static size_t receive_answer(int socket, uint64_t deadline, unsigned char *message, size_t size)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    int ready = 0;
    do {
        ready = poll(&readable, 1, deadline_poll_timeout(deadline));
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return 0;
    ssize_t length = channel_receive(socket, message, size, NULL, 0, NULL);
    return length > 0 ? (size_t)length : 0;
}

/* *ret_length is the answer's, 0 where there is no good one. */
static enum pool_state ask(enum sandbox_mode mode, char question, unsigned char *message,
                           size_t size, size_t *ret_length)
{
    int pair[2];
    *ret_length = 0;
    uint64_t deadline = monotonic_ms() + ANSWER_TIMEOUT_MS;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return POOL_SILENT;
    CLEANUP_CLOSE int ours = pair[0];
    CLEANUP_CLOSE int theirs = pair[1];
    enum pool_state state = send_question(backend_of(mode), question, theirs, deadline);
    close_fd(TAKE_FD(theirs));
    if (state == POOL_ANSWERED)
        *ret_length = receive_answer(ours, deadline, message, size);
    return state;
}

enum pool_state backend_ask_pool(enum sandbox_mode mode, struct pool_report *ret)
{
    unsigned char message[POOL_REPORT_LENGTH];
    size_t length;
    enum pool_state state = ask(mode, CONTROL_POOL, message, sizeof(message), &length);
    if (state == POOL_STOPPED)
        *ret = (struct pool_report){.rows = {{.ready = 0}}};
    return state == POOL_ANSWERED && !pool_report_decode(message, length, ret) ? POOL_SILENT
                                                                               : state;
}

enum pool_state backend_ask_parts(enum sandbox_mode mode, struct backend_parts *ret)
{
    CLEANUP_FREE unsigned char *message = malloc(BACKEND_PARTS_LIMIT);
    size_t length = 0;
    enum pool_state state =
        message ? ask(mode, CONTROL_PARTS, message, BACKEND_PARTS_LIMIT, &length) : POOL_SILENT;
    return state == POOL_ANSWERED && !backend_parts_decode(message, length, ret) ? POOL_SILENT
                                                                                 : state;
}

void backend_stop_all(void)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        CLEANUP(unlock_backend) struct backend *locked = &backends[i];
        (void)pthread_mutex_lock(&locked->mutex);
        backend_program_stop(&locked->program);
    }
}

void backend_after_fork(void)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        backends[i].mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        backend_program_forget(&backends[i].program);
    }
}
