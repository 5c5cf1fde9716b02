/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a session in Node: see session_cells.h. */
#include "interpreter/node/session_cells.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "interpreter/cell/cell.h"
#include "interpreter/node/node_api.h"
#include "protocol/run_description.h"

#define CELL_ARGUMENTS 6
#define END_LIMIT      65536
#define WAIT_MS        1000 /* of a cell, for code that others have left behind */
#define RETRY_MS       20   /* of an interruption */
#define RETRIES        50
#define DEAF_RETRIES   15 /* then the main thread waits for something else than its events */

/* Node-API cannot stop code that executes; V8 can, by functions that Node exports to addons. Where
 * one is missing the supervisor ends the session instead. */
#define V8_NAME(name) __asm__(name) __attribute__((weak))
void *v8_current_isolate(void) V8_NAME("_ZN2v87Isolate10GetCurrentEv");
void v8_terminate(void *isolate) V8_NAME("_ZN2v87Isolate18TerminateExecutionEv");
void v8_cancel_terminate(void *isolate) V8_NAME("_ZN2v87Isolate24CancelTerminateExecutionEv");
void v8_request_interrupt(void *isolate, void (*callback)(void *isolate, void *data), void *data)
    V8_NAME("_ZN2v87Isolate16RequestInterruptEPFvPS0_PvES2_");

enum event { EVENT_CELL, EVENT_INTERRUPT, EVENT_SOON, EVENT_COUNT };

static struct {
    int cells;                    /* the socket */
    int interruptions;            /* eventfd: of SIGINT, until the thread has seen it */
    int wanted;                   /* eventfd: the main thread wants the next cell */
    void *isolate;                /* NULL: V8's functions are not there */
    napi_threadsafe_function out; /* to the main thread */
    napi_env environment;
    napi_ref handlers[EVENT_COUNT];
    napi_ref evaluated;
    napi_ref unwind;
    bool in_cell;               /* of the main thread */
    bool is_guarded;            /* of the main thread: no code of the program is under way */
    bool is_stopped;            /* of the main thread: its code, and the event is still to come */
    atomic_bool is_interrupted; /* not heeded yet */
    atomic_bool cell_waits;     /* it is told of, and not taken yet */
    atomic_bool is_own_signal;  /* the next SIGINT was sent by the thread */
} session;

static void count_event(int fd)
{
    const uint64_t one = 1;
    (void)!write(fd, &one, sizeof(one));
}

static void note_interrupt(int signal)
{
    int saved = errno;
    (void)signal;
    if (!atomic_exchange(&session.is_own_signal, false))
        count_event(session.interruptions);
    errno = saved;
}

static void tell(enum event event)
{
    (void)napi_call_threadsafe_function(session.out, (void *)(intptr_t)event, 0);
}

/* Forgets the failure of a function of JavaScript, of which the end of its execution is one. */
static bool call(napi_value function, size_t count, const napi_value *arguments, napi_value *result)
{
    napi_value self;
    napi_value error;
    if (napi_get_undefined(session.environment, &self) == 0 &&
        napi_call_function(session.environment, self, function, count, arguments, result) == 0)
        return true;
    if (session.isolate)
        v8_cancel_terminate(session.isolate);
    (void)napi_get_and_clear_last_exception(session.environment, &error);
    return false;
}

static bool call_handler(napi_ref handler, size_t count, const napi_value *arguments,
                         napi_value *result)
{
    napi_value function;
    return napi_get_reference_value(session.environment, handler, &function) == 0 &&
           call(function, count, arguments, result);
}

/* On the main thread, in the middle of code that executes. */
static void interrupt_code(void *isolate, void *unused)
{
    napi_value answer;
    bool may_stop = false;
    (void)unused;
    if (session.is_guarded || !atomic_load(&session.is_interrupted) ||
        (!session.in_cell && !atomic_load(&session.cell_waits)) ||
        !call_handler(session.unwind, 0, NULL, &answer) ||
        napi_get_value_bool(session.environment, answer, &may_stop) != 0 || !may_stop)
        return;
    atomic_store(&session.is_interrupted, false);
    session.is_stopped = true;
    v8_terminate(isolate);
}

static void request_interrupt(void)
{
    if (session.isolate)
        v8_request_interrupt(session.isolate, interrupt_code, NULL);
}

static void interrupt(void)
{
    atomic_store(&session.is_interrupted, true);
    tell(EVENT_INTERRUPT);
    request_interrupt();
}

/* A main thread that waits for a child is as deaf as one of another program: its process group is
 * interrupted then, as at a terminal. */
static void interrupt_children(void)
{
    atomic_store(&session.is_own_signal, true);
    (void)kill(0, SIGINT);
}

/* While an interruption is not heeded, or a cell not taken. Returns how often it was tried by then;
 * 0: it is over. */
static unsigned int retry_interrupt(unsigned int tries)
{
    if (tries == 0 && atomic_load(&session.cell_waits))
        atomic_store(&session.is_interrupted, true);
    if (!atomic_load(&session.is_interrupted) || tries == RETRIES)
        return 0;
    if (tries == DEAF_RETRIES)
        interrupt_children();
    request_interrupt();
    return tries + 1;
}

/* The thread. Which cell an interruption is for it does not know: the main thread does. */
static void *wait_for_events(void *unused)
{
    struct pollfd ready[] = {{.fd = session.interruptions, .events = POLLIN},
                             {.fd = session.wanted, .events = POLLIN},
                             {.fd = -1, .events = POLLIN}};
    unsigned int tries = 0;
    (void)unused;
    for (;;) {
        uint64_t times;
        int longest = atomic_load(&session.cell_waits) ? WAIT_MS : -1;
        int count = poll(ready, COUNT_OF(ready), tries > 0 ? RETRY_MS : longest);
        if (count == 0)
            tries = retry_interrupt(tries);
        if (count <= 0)
            continue;
        if (ready[0].revents != 0 && read(session.interruptions, &times, sizeof(times)) > 0) {
            interrupt();
            tries = 1;
        }
        if (ready[1].revents != 0 && read(session.wanted, &times, sizeof(times)) > 0)
            ready[2].fd = session.cells;
        if (ready[2].revents != 0 && ready[2].fd >= 0) {
            ready[2].fd = -1;
            atomic_store(&session.cell_waits, true);
            tell(EVENT_CELL);
        }
    }
    return NULL;
}

/* false: nobody would hear of the cell's end. Where the gateway has closed its side it has heard.
 */
static bool write_frame(const char *text, size_t length)
{
    static char frame[5 + END_LIMIT];
    struct stat status;
    size_t written = 0;
    for (size_t i = 0; i < 4; i++)
        frame[i] = (char)(length >> 8 * i);
    frame[4] = CELL_FRAME_ENDED;
    memcpy(frame + 5, text, length);
    if (fstat(RUN_RESULTS_FD, &status) < 0 || !S_ISFIFO(status.st_mode))
        return false;
    while (written < 5 + length) {
        struct pollfd room = {.fd = RUN_RESULTS_FD, .events = POLLOUT};
        ssize_t more = write(RUN_RESULTS_FD, frame + written, 5 + length - written);
        if (more < 0 && errno == EAGAIN)
            (void)poll(&room, 1, -1);
        else if (more < 0 && errno != EINTR)
            return errno == EPIPE;
        written += more > 0 ? (size_t)more : 0;
    }
    return true;
}

/* The end of a cell that is still under way. */
static void write_end(const char *text, size_t length)
{
    session.in_cell = false;
    if (!write_frame(text, length))
        _exit(1);
    count_event(session.wanted);
}

static bool arguments_of(const struct cell *cell, napi_value ret[CELL_ARGUMENTS])
{
    napi_env environment = session.environment;
    ret[1] = node_array_of(environment, cell->arguments);
    ret[2] = node_array_of(environment, cell->environment);
    return ret[1] && ret[2] &&
           napi_create_buffer_copy(environment, cell->code_length, cell->code, NULL, &ret[0]) ==
               0 &&
           napi_create_int32(environment, (int32_t)cell->lasting, &ret[3]) == 0 &&
           napi_create_string_utf8(environment, cell->failure, strlen(cell->failure), &ret[4]) ==
               0 &&
           napi_get_boolean(environment, cell->has_tools, &ret[5]) == 0;
}

/* Where there is no way to say more, the gateway must still hear that the cell has ended. Code that
 * was stopped ends by the event of that. */
static void end_without_words(void)
{
    static const char words[] =
        "Uncaught: the session's own code failed; was it replaced by a cell?\n";
    if (!session.in_cell || session.is_stopped)
        return;
    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    write_end("{}", 2);
}

/* No frame of ours is below the code. */
static bool evaluate(napi_value code)
{
    napi_value result;
    session.is_guarded = false;
    (void)call(code, 0, NULL, &result);
    session.is_guarded = true;
    return session.is_stopped || call_handler(session.evaluated, 0, NULL, &result);
}

static bool perform(const napi_value arguments[CELL_ARGUMENTS])
{
    napi_value code;
    int type = 0;
    session.is_guarded = true;
    bool done = call_handler(session.handlers[EVENT_CELL], CELL_ARGUMENTS, arguments, &code) &&
                napi_typeof(session.environment, code, &type) == 0 &&
                (type != NAPI_FUNCTION || evaluate(code));
    session.is_guarded = false;
    return done;
}

/* Where no code is left that an interruption was for. */
static void forget_stop(void)
{
    session.is_stopped = false;
    atomic_store(&session.is_interrupted, false);
    if (session.isolate)
        v8_cancel_terminate(session.isolate);
}

static void begin_cell(void)
{
    struct cell cell;
    napi_value arguments[CELL_ARGUMENTS];
    if (cell_take(session.cells, &cell) == CELL_NONE)
        _exit(0);
    atomic_store(&session.cell_waits, false);
    forget_stop();
    session.in_cell = true;
    if (!arguments_of(&cell, arguments) || !perform(arguments))
        end_without_words();
}

/* On the main thread, with no JavaScript below it. */
static void take_event(napi_env environment, napi_value unused, void *context, void *data)
{
    enum event event = (enum event)(intptr_t)data;
    napi_value nothing;
    (void)unused;
    (void)context;
    if (!environment) /* it ends */
        return;
    if (event == EVENT_CELL) {
        begin_cell();
        return;
    }
    if (event == EVENT_INTERRUPT)
        forget_stop();
    session.is_stopped = false;
    if (session.isolate)
        v8_cancel_terminate(session.isolate);
    if (!call_handler(session.handlers[event], 0, NULL, &nothing))
        end_without_words();
}

static bool start_thread(void)
{
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, wait_for_events, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started && pthread_detach(thread) == 0;
}

static bool prepare(napi_env environment, const napi_value functions[EVENT_COUNT + 2])
{
    napi_value name;
    session.environment = environment;
    session.interruptions = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    session.wanted = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (v8_current_isolate && v8_terminate && v8_cancel_terminate && v8_request_interrupt)
        session.isolate = v8_current_isolate();
    if (session.interruptions < 0 || session.wanted < 0)
        return false;
    for (size_t i = 0; i < EVENT_COUNT; i++)
        if (napi_create_reference(environment, functions[i], 1, &session.handlers[i]) != 0)
            return false;
    return napi_create_reference(environment, functions[EVENT_COUNT], 1, &session.evaluated) == 0 &&
           napi_create_reference(environment, functions[EVENT_COUNT + 1], 1, &session.unwind) ==
               0 &&
           napi_create_string_utf8(environment, "session", strlen("session"), &name) == 0 &&
           napi_create_threadsafe_function(environment, NULL, NULL, name, 0, 1, NULL, NULL, NULL,
                                           take_event, &session.out) == 0 &&
           start_thread();
}

static napi_value begin(napi_env environment, napi_callback_info info)
{
    napi_value functions[EVENT_COUNT + 2];
    napi_value is_session;
    size_t count = COUNT_OF(functions);
    session.cells = cell_socket_take();
    if (napi_get_cb_info(environment, info, &count, functions, NULL, NULL) != 0 ||
        napi_get_boolean(environment, session.cells >= 0, &is_session) != 0)
        return NULL;
    if (session.cells >= 0 && !prepare(environment, functions))
        _exit(1); /* a session that takes no cell must not stay */
    return is_session;
}

static napi_value guard(napi_env environment, napi_callback_info info)
{
    napi_value value;
    napi_value before;
    size_t count = 1;
    if (napi_get_boolean(environment, session.is_guarded, &before) != 0 ||
        napi_get_cb_info(environment, info, &count, &value, NULL, NULL) != 0)
        return NULL;
    (void)napi_get_value_bool(environment, value, &session.is_guarded);
    if (!session.is_guarded && atomic_load(&session.is_interrupted))
        request_interrupt(); /* the one that came meanwhile was not heeded */
    return before;
}

/* The pipe of this cell: calls of tools share it, and nobody may wait for room there. */
static napi_value unblock(napi_env environment, napi_callback_info info)
{
    (void)environment;
    (void)info;
    (void)fcntl(RUN_RESULTS_FD, F_SETFL, O_NONBLOCK);
    return NULL;
}

static napi_value hear(napi_env environment, napi_callback_info info)
{
    const struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART};
    (void)environment;
    (void)info;
    (void)sigaction(SIGINT, &action, NULL);
    return NULL;
}

static napi_value call_soon(napi_env environment, napi_callback_info info)
{
    (void)environment;
    (void)info;
    tell(EVENT_SOON);
    return NULL;
}

static napi_value stop(napi_env environment, napi_callback_info info)
{
    napi_value can_stop;
    (void)info;
    if (napi_get_boolean(environment, session.isolate != NULL, &can_stop) != 0)
        return NULL;
    if (session.isolate) {
        tell(EVENT_SOON);
        session.is_stopped = true;
        v8_terminate(session.isolate);
    }
    return can_stop;
}

static napi_value home_is_empty(napi_env environment, napi_callback_info info)
{
    napi_value is_empty;
    (void)info;
    return napi_get_boolean(environment, cell_home_is_empty(), &is_empty) == 0 ? is_empty : NULL;
}

static napi_value end(napi_env environment, napi_callback_info info)
{
    static char text[END_LIMIT];
    napi_value value;
    size_t count = 1;
    size_t length = 0;
    if (!session.in_cell)
        return NULL;
    bool is_whole =
        napi_get_cb_info(environment, info, &count, &value, NULL, NULL) == 0 &&
        napi_get_value_string_utf8(environment, value, text, sizeof(text), &length) == 0 &&
        length < sizeof(text) - 4; /* at a limit it is cut */
    write_end(is_whole ? text : "{}", is_whole ? length : 2);
    return NULL;
}

bool session_cells_export(napi_env environment, napi_value object)
{
    static const struct {
        const char *name;
        napi_callback callback;
    } functions[] = {{"begin", begin}, {"guard", guard},        {"hear", hear},
                     {"stop", stop},   {"callSoon", call_soon}, {"homeIsEmpty", home_is_empty},
                     {"end", end},     {"unblock", unblock}};
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        napi_value function;
        const char *name = functions[i].name;
        if (napi_create_function(environment, name, strlen(name), functions[i].callback, NULL,
                                 &function) != 0 ||
            napi_set_named_property(environment, object, name, function) != 0)
            return false;
    }
    return true;
}
