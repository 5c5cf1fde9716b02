/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of the process backend, and of the libraries in it, failed once: of its start,
 * of the supervisor during a run, of the init, of the payload until its execve, and of the
 * subreaper of mode none. After each: an answer, nothing left and no block lost, the next run
 * works, and no program has run with a layer missing, as it tells from inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../process/backend/harness.h"
#include "base/cleanup.h"
#include "inspector.h"
#include "remains.h"
#include "scarce_memory.h"

#define ANSWER_SECONDS 8
#define SETTLE_SECONDS 4
#define SOME_POINTS    50 /* of a role that has more, in the short form */

static struct scarce_memory *memory;
static struct backend backend = {.control = -1};
static unsigned int filter_length; /* of a run that lacks nothing */
static long blocks;                /* of a supervisor at rest */
static size_t mounts;
static unsigned int index_now;
static unsigned int failed; /* of the test that runs */
static struct {
    unsigned int points, whole, refused, lost, no_start;
} count;

static const char *const role_names[MEMORY_ROLE_COUNT] = {"start", "supervisor", "init", "payload",
                                                          "subreaper of mode none"};

static void complain(const char *what, const char *more)
{
    (void)printf("# %s, allocation %u%s: %s%s%s\n", role_names[memory->role], index_now,
                 memory->lasting ? " and all after it" : "", what, more[0] ? ": " : "", more);
    failed++;
}

static void let_fail(unsigned int index)
{
    memset(memory->asked, 0, sizeof(memory->asked));
    memory->failed = 0;
    memory->init = 0;
    memory->index = index;
}

static void map_memory(void)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s" SCARCE_MEMORY_FILE, getenv("CODE_EXECUTE_PROCESS"));
    CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*memory)) < 0) {
        perror(path);
        exit(1);
    }
    memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        exit(1);
}

/* false: it has ended before it said hello. */
static bool start_backend(void)
{
    memory->supervisor = 0;
    if (!backend_try_start(&backend))
        return false;
    memory->blocks = 0;
    memory->supervisor = backend.pid;
    return true;
}

static void stop_backend(void)
{
    if (backend.control < 0)
        return;
    backend_stop(&backend);
    if (process_is_alive(backend.pid))
        complain("the backend does not end", "");
}

struct answer {
    bool started;
    bool ended;
    bool late;
    struct run_event end;
    char output[8192];
};

/* false: nothing more will come. */
static bool take_event(int fd, struct answer *answer)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    ssize_t length = channel_receive_now(fd, message, sizeof(message));
    if (length < 0)
        return errno == EAGAIN;
    if (length == 0 || !run_event_decode(message, (size_t)length, &event))
        return false;
    answer->started |= event.type == RUN_EVENT_STARTED;
    answer->ended = event.type == RUN_EVENT_ENDED;
    if (answer->ended)
        answer->end = event;
    return !answer->ended;
}

static void take_output(int fd, struct answer *answer)
{
    size_t used = strlen(answer->output);
    ssize_t length = read(fd, answer->output + used, sizeof(answer->output) - 1 - used);
    if (length > 0)
        answer->output[used + (size_t)length] = '\0';
}

static void finish(const struct running *running, struct answer *answer)
{
    double latest = now_seconds() + ANSWER_SECONDS;
    struct pollfd ready = {.fd = running->events, .events = POLLIN};
    (void)fcntl(running->output, F_SETFL, O_NONBLOCK);
    while (take_event(running->events, answer) && !answer->late) {
        (void)poll(&ready, 1, 1000);
        answer->late = now_seconds() > latest;
    }
    take_output(running->output, answer);
    close_fd(running->events);
    close_fd(running->output);
    close_fd(running->errors);
}

/* With everything in it that a run can have. */
static struct run_description description_of(enum memory_role role)
{
    static char paths[][6] = {"a/b/c", "d", "e"};
    static unsigned char content[] = "content";
    static struct run_file files[] = {
        {.path = paths[0], .content = content, .length = sizeof(content) - 1},
        {.path = paths[1], .content = content, .length = 0},
        {.path = paths[2],
         .length = sizeof(HARNESS_INPUT) - 1,
         .by_reference = true,
         .sha256 = HARNESS_INPUT_HASH},
    };
    struct run_description description = inspector_run();
    if (role == MEMORY_SUBREAPER) {
        static const char *const words[] = {"echo", "whole", NULL};
        description.argv = (char **)(uintptr_t)words;
        description.isolation = RUN_ISOLATION_NONE;
    }
    description.files = files;
    description.file_count = COUNT_OF(files);
    return description;
}

/* false: the backend takes none. */
static bool run_once(enum memory_role role, struct answer *answer)
{
    struct run_description description = description_of(role);
    struct running running;
    memset(answer, 0, sizeof(*answer));
    if (!run_try_begin(&backend, &description, &running))
        return false;
    finish(&running, answer);
    return true;
}

static bool is_whole(const struct answer *answer)
{
    return answer->ended && answer->end.cause == RUN_CAUSE_EXIT && answer->end.exit_code == 0;
}

static void judge_whole(enum memory_role role, const struct answer *answer)
{
    const struct isolation_report *told = &answer->end.isolation;
    count.whole++;
    if (role == MEMORY_SUBREAPER) {
        if (strcmp(answer->output, "whole\n") != 0)
            complain("the program said", answer->output);
        return;
    }
    if (inspector_layers() & ~told->applied)
        complain("the program ran and a mandatory layer is not told as applied", "");
    if (told->seccomp_instructions != filter_length)
        complain("THE PROGRAM RAN WITH ANOTHER FILTER", "");
    if (!inspector_is_content(answer->output, told->applied & LAYER_BIT(LAYER_LANDLOCK)))
        complain("THE PROGRAM RAN WITHOUT A LAYER", answer->output);
}

static void judge(enum memory_role role, const struct answer *answer)
{
    const struct run_event *end = &answer->end;
    if (answer->late)
        complain("no answer", "");
    else if (is_whole(answer))
        judge_whole(role, answer);
    else if (!answer->ended)
        count.lost++; /* the plugin sees the socket's end, and says that the backend failed */
    else if (end->cause != RUN_CAUSE_INFRASTRUCTURE)
        complain("a fault of ours is told as the program's",
                 run_cause_name((enum run_cause)end->cause));
    else if (!end->message[0] || strstr(end->message, "the set-up of the run was killed"))
        complain("the failure does not say what failed", end->message);
    else
        count.refused++;
    if (!is_whole(answer) && answer->ended && answer->output[0])
        complain("a run that was refused has an output", answer->output);
}

static bool has_directory(void)
{
    char pattern[64];
    glob_t found;
    (void)snprintf(pattern, sizeof(pattern), "/tmp/code-execute-%d-*", (int)backend.pid);
    bool has = glob(pattern, 0, NULL, &found) == 0;
    if (has)
        globfree(&found);
    return has || !is_empty(inspector_directory());
}

static bool is_settled(void)
{
    return !has_children(backend.pid) && memory->blocks <= blocks &&
           !has_groups_of_runs(backend.pid) && !has_directory();
}

static void expect_nothing_left(void)
{
    double latest = now_seconds() + SETTLE_SECONDS;
    bool settled;
    while (!(settled = is_settled()) && now_seconds() < latest)
        (void)usleep(2000);
    if (!process_is_alive(backend.pid)) {
        complain("the supervisor has ended", "");
        stop_backend();
        return;
    }
    if (!settled && has_children(backend.pid))
        complain("a process is left", "");
    if (!settled && has_groups_of_runs(backend.pid))
        complain("a control group is left", "");
    if (!settled && has_directory())
        complain("a directory is left", "");
    if (!settled && memory->blocks > blocks) {
        complain("the supervisor has more blocks than before", "");
        blocks = memory->blocks;
    }
    if (mounts_are_left(&mounts))
        complain("a mount is left", "");
}

/* The next run: with nothing that fails, it is whole. */
static void expect_a_good_run(enum memory_role role)
{
    static struct answer answer;
    let_fail(0);
    if (backend.control < 0 && !start_backend()) {
        complain("the next backend does not start", "");
        return;
    }
    if (!run_once(role, &answer) || !is_whole(&answer)) {
        complain("the next run is not whole", answer.end.message);
        stop_backend();
        return;
    }
    judge_whole(role, &answer);
    count.whole--;
}

/* One point; false once none was met any more. */
static bool try_point(enum memory_role role)
{
    static struct answer answer;
    if (role == MEMORY_START) {
        stop_backend();
        let_fail(index_now);
        bool started = start_backend();
        if (memory->failed == 0)
            return false;
        count.points++;
        memory->index = 0;
        count.no_start += !started;
        blocks = LONG_MAX; /* what could not be made at the start is made now */
        if (!started)
            return true;
    } else {
        let_fail(index_now);
    }
    if (run_once(role, &answer)) {
        if (role != MEMORY_START && memory->failed == 0)
            return false;
        count.points += role != MEMORY_START;
        memory->index = 0;
        judge(role, &answer);
    } else {
        complain("the backend does not accept the run", "");
    }
    expect_nothing_left();
    return true;
}

/* What a backend is and asks for when nothing fails. The second run: what is made once, is. */
static unsigned int measure(enum memory_role role)
{
    static struct answer answer;
    let_fail(0);
    stop_backend();
    if (!start_backend())
        return 0;
    unsigned int at_start = memory->asked[MEMORY_START];
    for (int i = 0; i < 2; i++) {
        let_fail(0);
        if (!run_once(role, &answer) || !is_whole(&answer))
            return 0;
        filter_length = answer.end.isolation.seccomp_instructions;
        blocks = LONG_MAX;
        expect_nothing_left();
        /* One more: the list of control groups that the kernel was not done with. */
        blocks = memory->blocks + 1;
    }
    return role == MEMORY_START ? at_start : memory->asked[role];
}

static bool try_role(enum memory_role role, bool lasting)
{
    failed = 0;
    memset(&count, 0, sizeof(count));
    memory->role = role;
    memory->lasting = lasting;
    unsigned int expected = measure(role);
    bool all = getenv("CODE_EXECUTE_TEST_LONG") || expected <= SOME_POINTS;
    unsigned int step = all ? 1 : expected / SOME_POINTS + 1;
    if (backend.control < 0)
        complain("nothing runs", "");
    const char *first = getenv("FAULTS_FIRST");
    index_now = first ? (unsigned int)strtoul(first, NULL, 10) : 1;
    for (; failed < 20 && backend.control >= 0; index_now += step) {
        /* How many there are may depend on how often an init looks. */
        bool more = try_point(role) || (role != MEMORY_START && index_now < expected);
        if (!more || index_now % 10 == 0 || backend.control < 0)
            expect_a_good_run(role);
        if (!more)
            break;
    }
    stop_backend();
    (void)printf("# %s%s: %u of %u points: %u backends did not start, %u runs whole, %u refused, "
                 "%u without their end\n",
                 role_names[role], lasting ? ", and all after it" : "", count.points, expected,
                 count.no_start, count.whole, count.refused, count.lost);
    return failed == 0;
}

/* Neither the start nor mode none knows of blueprints. */
static bool is_tried(enum memory_role role, bool is_unprivileged)
{
    if (!is_unprivileged)
        return true;
    return role != MEMORY_SUBREAPER && (role != MEMORY_START || getenv("CODE_EXECUTE_TEST_LONG"));
}

int main(void)
{
    if (geteuid() != 0) {
        (void)printf("1..0 # SKIP takes root, for the same layers everywhere\n");
        return 0;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    bool is_unprivileged = inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED;
    map_memory();
    keep_mounts_apart();
    if (is_unprivileged)
        hide_control_groups();
    mounts = count_mounts();
    memory->unprivileged = is_unprivileged;
    int number = 0;
    bool good = true;
    for (int lasting = 0; lasting <= 1; lasting++)
        /* A subreaper that never gets memory again cannot read the directory that it is to remove.
         */
        for (int role = 0; role < MEMORY_ROLE_COUNT - lasting; role++) {
            const char *only = getenv("FAULTS_ROLE");
            if (only && strncmp(only, role_names[role], strlen(only)) != 0)
                continue;
            if (!is_tried((enum memory_role)role, is_unprivileged))
                continue;
            bool passed = try_role((enum memory_role)role, lasting);
            (void)printf("%s %d - each allocation of the %s fails%s\n", passed ? "ok" : "not ok",
                         ++number, role_names[role], lasting ? ", and all after it" : " once");
            good &= passed;
        }
    (void)printf("1..%d\n", number);
    return good ? 0 : 1;
}
