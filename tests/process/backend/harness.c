/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the test side of the backend protocol: see harness.h. */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static _Noreturn void give_up(const char *what)
{
    (void)printf("Bail out! %s: %s\n", what, strerror(errno));
    (void)fflush(stdout);
    abort();
}

double now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

unsigned int slowness(void)
{
    const char *text = getenv("HARNESS_SLOW");
    return text ? (unsigned int)strtoul(text, NULL, 10) : 1;
}

bool process_is_alive(pid_t pid)
{
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] && name_end[2] != 'Z' && name_end[2] != 'X';
}

bool backend_try_start(struct backend *ret)
{
    const char *program = getenv("CODE_EXECUTE_PROCESS");
    int pair[2];
    if (!program || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        give_up("CODE_EXECUTE_PROCESS or socketpair");
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    /* A descriptor onto itself would keep its CLOEXEC. */
    int high = fcntl(pair[1], F_DUPFD_CLOEXEC, 100);
    (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    (void)posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0);
    if (!getenv("HARNESS_STDERR"))
        (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDWR, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, high, BACKEND_CONTROL_FD);
    pid_t pid;
    if (posix_spawn(&pid, program, &actions, NULL, WORDS("code-execute-process"), WORDS(NULL)) != 0)
        give_up("posix_spawn");
    (void)posix_spawn_file_actions_destroy(&actions);
    close_fd(high);
    close_fd(pair[1]);
    (void)waitpid(pid, NULL, 0);
    struct backend_hello hello;
    *ret = (struct backend){.control = -1};
    if (channel_receive(pair[0], &hello, sizeof(hello), NULL, 0, NULL) != (ssize_t)sizeof(hello) ||
        hello.protocol_version != PROTOCOL_VERSION) {
        close_fd(pair[0]);
        return false;
    }
    *ret = (struct backend){.control = pair[0], .pid = hello.pid};
    return true;
}

struct backend backend_start(void)
{
    struct backend backend;
    if (!backend_try_start(&backend))
        give_up("no hello");
    return backend;
}

void backend_stop(struct backend *backend)
{
    close_fd(TAKE_FD(backend->control));
    for (int i = 0; i < 6000 && process_is_alive(backend->pid); i++)
        (void)usleep(1000);
}

static const char *const everyday_paths[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/alternatives", "/etc/ld.so.cache",
    NULL};
static const char *const everyday_directories[] = {"/usr/local/bin", "/usr/bin", "/bin", NULL};
static const char *const everyday_environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                                   "LANG=C.UTF-8", NULL};

struct run_description describe(char **argv)
{
    static unsigned int serial;
    struct run_description description = {
        .isolation = RUN_ISOLATION_SANDBOX,
        .outer_uid_base = 200000,
        .outer_uid_count = 2000,
        .limits =
            {
                .wall_ms = 20000 * slowness(),
                .cpu_ms = 20000 * slowness(),
                .memory_bytes = UINT64_C(256) << 20,
                .processes = 64,
                .open_files = 256,
                .file_bytes = UINT64_C(64) << 20,
                .scratch_bytes = UINT64_C(64) << 20,
                .scratch_inodes = 4096,
            },
        .argv = argv,
        .environment = (char **)(uintptr_t)everyday_environment,
        .runtime_path = (char **)(uintptr_t)everyday_directories,
        .read_only_paths = (char **)(uintptr_t)everyday_paths,
    };
    (void)snprintf(description.run_id, sizeof(description.run_id), "%016x%016x",
                   (unsigned int)getpid(), ++serial);
    return description;
}

int harness_description(const struct run_description *description)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = run_description_encode(description, &length);
    int fd = memfd_create("run", MFD_CLOEXEC);
    if (!bytes || fd < 0 || write(fd, bytes, length) != (ssize_t)length)
        give_up("description");
    return fd;
}

static int sealed_memfd(const char *text)
{
    int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        lseek(fd, 0, SEEK_SET) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        give_up("input");
    return fd;
}

static const int *given_inputs; /* NULL: one of memory for each file by reference */
static size_t given_count;

void harness_give_inputs(const int *fds, size_t count)
{
    given_inputs = fds;
    given_count = count;
}

static int files_end = -1;
static int endpoints_end = -1;

void harness_take_files(int fd)
{
    files_end = fd;
}

void harness_give_endpoints(int fd)
{
    endpoints_end = fd;
}

static void send_input(int socket, int fd)
{
    char nothing = 0;
    if (channel_send(socket, &nothing, 1, &fd, 1) < 0)
        give_up("send input");
}

/* The end that a payload reads from. */
static int inputs_of(const struct run_description *description)
{
    int ends[2];
    if (run_description_input_bytes(description) == 0 && !given_inputs)
        return open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("socket");
    for (size_t i = 0; given_inputs && i < given_count; i++)
        send_input(ends[0], given_inputs[i]);
    for (size_t i = 0; !given_inputs && i < description->file_count; i++) {
        CLEANUP_CLOSE int memory = sealed_memfd(HARNESS_INPUT);
        if (description->files[i].by_reference)
            send_input(ends[0], memory);
    }
    close_fd(ends[0]);
    return ends[1];
}

/* Takes input. false: the backend takes no run, as one that ends does not. */
static bool try_begin(const struct backend *backend, const struct run_description *description,
                      int input, struct running *ret)
{
    int events[2];
    int output[2];
    int errors[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) < 0 ||
        pipe2(output, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
        give_up("pipes");
    int fds[RUN_FD_COUNT] = {
        [RUN_FD_EVENTS] = events[1],
        [RUN_FD_DESCRIPTION] = harness_description(description),
        [RUN_FD_STDIN] = input,
        [RUN_FD_STDOUT] = output[1],
        [RUN_FD_STDERR] = errors[1],
        [RUN_FD_RESULTS] = open("/dev/null", O_WRONLY | O_CLOEXEC),
        [RUN_FD_FILES] = files_end < 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC)
                                       : fcntl(files_end, F_DUPFD_CLOEXEC, 0),
        [RUN_FD_INPUTS] = inputs_of(description),
        [RUN_FD_TOOLS] = open("/dev/null", O_WRONLY | O_CLOEXEC),
        [RUN_FD_ENDPOINTS] = endpoints_end < 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC)
                                               : fcntl(endpoints_end, F_DUPFD_CLOEXEC, 0),
    };
    char kind = CONTROL_RUN;
    bool sent = channel_send(backend->control, &kind, 1, fds, RUN_FD_COUNT) == 0;
    for (int i = 0; i < RUN_FD_COUNT; i++)
        close_fd(fds[i]);
    *ret = (struct running){.events = events[0], .output = output[0], .errors = errors[0]};
    if (sent)
        return true;
    close_fd(events[0]);
    close_fd(output[0]);
    close_fd(errors[0]);
    return false;
}

static struct running begin(const struct backend *backend,
                            const struct run_description *description, int input)
{
    struct running running;
    if (!try_begin(backend, description, input, &running))
        give_up("send run");
    return running;
}

bool run_try_begin(const struct backend *backend, const struct run_description *description,
                   struct running *ret)
{
    return try_begin(backend, description, open("/dev/null", O_RDONLY | O_CLOEXEC), ret);
}

struct running run_begin(const struct backend *backend, const struct run_description *description)
{
    return begin(backend, description, open("/dev/null", O_RDONLY | O_CLOEXEC));
}

struct running run_begin_with_input(const struct backend *backend,
                                    const struct run_description *description, const char *input)
{
    return begin(backend, description, sealed_memfd(input));
}

struct running run_begin_with_stdin(const struct backend *backend,
                                    const struct run_description *description, int input)
{
    return begin(backend, description, input);
}

/* Keeps what fits, drops the rest. false at end of file. */
static bool take_output(int fd, char *text, size_t size)
{
    char bytes[65536];
    ssize_t length = read(fd, bytes, sizeof(bytes));
    size_t used = strlen(text);
    for (ssize_t i = 0; i < length && used + 1 < size; i++)
        if (bytes[i])
            text[used++] = bytes[i];
    text[used] = '\0';
    return length > 0;
}

static bool take_event(int fd, struct outcome *ret)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    ssize_t length = channel_receive(fd, message, sizeof(message), NULL, 0, NULL);
    if (length <= 0 || !run_event_decode(message, (size_t)length, &event))
        give_up("no event");
    if (event.type == RUN_EVENT_INTERRUPTED) /* a session's cell; its end is still to come */
        return false;
    if (event.type == RUN_EVENT_STARTED) {
        ret->started = true;
        ret->start = event;
        return false;
    }
    ret->end = event;
    return event.type == RUN_EVENT_ENDED;
}

void run_finish(struct running *running, struct outcome *ret)
{
    double start = now_seconds();
    struct pollfd ready[] = {
        {.fd = running->events, .events = POLLIN},
        {.fd = running->output, .events = POLLIN},
        {.fd = running->errors, .events = POLLIN},
    };
    ret->started = false;
    ret->output[0] = ret->errors[0] = '\0';
    bool ended = false;
    while (!ended || ready[1].fd >= 0 || ready[2].fd >= 0) {
        if (poll(ready, COUNT_OF(ready), 60000 * (int)slowness()) <= 0)
            give_up("no end within 60 seconds");
        if (ready[1].revents && !take_output(running->output, ret->output, sizeof(ret->output)))
            ready[1].fd = -1;
        if (ready[2].revents && !take_output(running->errors, ret->errors, sizeof(ret->errors)))
            ready[2].fd = -1;
        if (ready[0].revents && take_event(running->events, ret)) {
            ended = true;
            ready[0].fd = -1;
            ret->seconds = now_seconds() - start;
        }
    }
    close_fd(running->events);
    close_fd(running->output);
    close_fd(running->errors);
    if (getenv("HARNESS_VERBOSE"))
        (void)fprintf(stderr,
                      "# cause=%s exit=%d signal=%d failure=%u layer=%u errno=%d '%s' out='%s' "
                      "err='%s' %.3fs applied=%llx missing=%llx\n",
                      run_cause_name((enum run_cause)ret->end.cause), ret->end.exit_code,
                      ret->end.signal, ret->end.failure, ret->end.failed_layer,
                      ret->end.error_number, ret->end.message, ret->output, ret->errors,
                      ret->seconds, (unsigned long long)ret->end.isolation.applied,
                      (unsigned long long)ret->end.isolation.missing);
}

void run(const struct backend *backend, const struct run_description *description,
         struct outcome *ret)
{
    struct running running = run_begin(backend, description);
    run_finish(&running, ret);
}

void run_await_start(const struct running *running)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    ssize_t length = channel_receive(running->events, message, sizeof(message), NULL, 0, NULL);
    if (length <= 0 || !run_event_decode(message, (size_t)length, &event) ||
        event.type != RUN_EVENT_STARTED)
        give_up("not started");
}

void run_await_output(const struct running *running)
{
    struct pollfd ready = {.fd = running->output, .events = POLLIN};
    if (poll(&ready, 1, 60000 * (int)slowness()) != 1 || !(ready.revents & POLLIN))
        give_up("no output within 60 seconds");
}

static bool command_line_has(const char *pid, const char *text)
{
    char path[300];
    char line[4096];
    (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    return length > 0 && memmem(line, (size_t)length, text, strlen(text));
}

int count_processes(const char *text)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
            command_line_has(entry->d_name, text))
            count++;
    if (proc)
        (void)closedir(proc);
    return count;
}
