/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the backend by itself: cells of one interpreter, their time, and the session's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "protocol/session.h"
#include "suite.h"

#define CELL_ENDED  4 /* the kind of frame of session.py */
#define TEXT_LIMIT  8192
#define FRAME_BYTES 5 /* before the payload */

/* What has come of a cell. */
struct answer {
    bool ended; /* by its frame; else by the end of its pipes */
    char output[TEXT_LIMIT];
    char errors[TEXT_LIMIT];
    char frames[TEXT_LIMIT]; /* the payloads, each behind a letter for its kind */
};

static struct running session;
static int cells = -1;
static struct answer answer;

static struct run_description describe_python(char *code, struct run_file *file)
{
    static const char *const command[] = {"python3", "cell.py", NULL};
    struct run_description description = describe((char **)(uintptr_t)command);
    *file = (struct run_file){.path = (char *)(uintptr_t) "cell.py",
                              .content = (unsigned char *)code,
                              .length = strlen(code)};
    description.files = file;
    description.file_count = 1;
    description.results = 1;
    description.preparation.runner = RUN_INTERPRETER_PYTHON;
    description.preparation.argument_count = 2;
    description.preparation.program_argument = 1;
    description.preparation.environment_count =
        (uint32_t)string_list_count(description.environment);
    return description;
}

static void begin_session(uint64_t idle_ms, uint64_t age_ms, uint64_t memory_bytes)
{
    char nothing[] = "";
    struct run_file file;
    int ends[2];
    struct run_description description = describe_python(nothing, &file);
    description.limits.cpu_ms = 0;
    description.limits.memory_bytes = memory_bytes;
    description.session = (struct run_session){.idle_ms = idle_ms, .age_ms = age_ms};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
    cells = ends[0];
    session = run_begin_with_stdin(&backend, &description, ends[1]);
    run_await_start(&session);
}

static void begin_everyday_session(void)
{
    begin_session(60000, 3600000, UINT64_C(256) << 20);
}

static void end_session(void)
{
    close_fd(TAKE_FD(cells));
    run_finish(&session, &outcome);
}

static void send_order(enum session_order_kind kind, uint32_t wall_ms)
{
    const struct session_order order = {.kind = kind, .wall_ms = wall_ms};
    ck_assert_int_eq(channel_send(session.events, &order, sizeof(order), NULL, 0), 0);
}

/* The read ends of a cell's pipes. */
struct cell_pipes {
    int output, errors, results;
};

static struct cell_pipes send_cell(char *code, char **environment)
{
    struct run_file file;
    struct run_description description = describe_python(code, &file);
    char **whole = NULL;
    ck_assert(string_list_append_all(&whole, (const char *const *)description.environment));
    ck_assert(!environment || string_list_append_all(&whole, (const char *const *)environment));
    description.environment = whole;
    const char kind = SESSION_CELL;
    int output[2], errors[2], results[2];
    ck_assert(pipe2(output, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0 &&
              pipe2(results, O_CLOEXEC) == 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int fds[] = {harness_description(&description),
                 null,
                 output[1],
                 errors[1],
                 results[1],
                 null,
                 null,
                 null};
    ck_assert_int_eq(channel_send(cells, &kind, sizeof(kind), fds, COUNT_OF(fds)), 0);
    for (size_t i = 0; i < 5; i++)
        close_fd(fds[i]);
    string_list_free(whole);
    return (struct cell_pipes){output[0], errors[0], results[0]};
}

static bool read_exactly(int fd, void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        ck_assert_msg(poll(&entry, 1, 30000) == 1, "no answer within 30 seconds");
        ssize_t count = read(fd, (char *)bytes + done, length - done);
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

static void read_frames(int fd)
{
    unsigned char header[FRAME_BYTES];
    size_t used = 0;
    while (!answer.ended && read_exactly(fd, header, sizeof(header))) {
        size_t length = header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16;
        ck_assert_uint_lt(used + length + 2, TEXT_LIMIT);
        answer.frames[used++] = (char)('0' + header[4]);
        ck_assert(read_exactly(fd, &answer.frames[used], length));
        used += length;
        answer.ended = header[4] == CELL_ENDED;
    }
}

static void read_now(int fd, char *text)
{
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    ssize_t length = read(fd, text, TEXT_LIMIT - 1);
    text[length > 0 ? length : 0] = '\0';
    close_fd(fd);
}

static void finish_cell(const struct cell_pipes *pipes)
{
    memset(&answer, 0, sizeof(answer));
    read_frames(pipes->results);
    read_now(pipes->output, answer.output);
    read_now(pipes->errors, answer.errors);
    close_fd(pipes->results);
}

static void run_cell_with(const char *code, char **environment, uint32_t wall_ms)
{
    char *copy = strdup(code);
    send_order(SESSION_ORDER_CELL, wall_ms);
    const struct cell_pipes pipes = send_cell(copy, environment);
    finish_cell(&pipes);
    if (answer.ended)
        send_order(SESSION_ORDER_IDLE, 0);
    free(copy);
}

static void expect_cell(const char *code, const char *output)
{
    run_cell_with(code, NULL, 20000 * slowness());
    ck_assert_msg(answer.ended && strcmp(answer.output, output) == 0, "%s: '%s' '%s' '%s'", code,
                  answer.output, answer.errors, answer.frames);
}

static void expect_frame(const char *part)
{
    ck_assert_msg(strstr(answer.frames, part) != NULL, "%s in %s", part, answer.frames);
}

START_TEST(state_lives_on)
{
    begin_everyday_session();
    expect_cell("import os\nx = 41\nos.mkdir('d'); os.chdir('d'); open('f', 'w').write('file')",
                "");
    expect_frame("\"exit_code\":0");
    expect_frame("\"defined\":[\"os\",\"x\"]");
    expect_cell("x += 1\nprint(x, open('f').read(), os.getcwd())", "42 file /home/sandbox/d\n");
    expect_cell("x", "");
    expect_frame("\"application/json\":42");
    end_session();
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_int_eq(outcome.end.exit_code, 0);
}
END_TEST

START_TEST(a_cell_fails_alone)
{
    begin_everyday_session();
    expect_cell("def f():\n    return 1 / 0\nx = 5", "");
    expect_cell("f()", "");
    expect_frame("\"name\":\"ZeroDivisionError\"");
    expect_frame("\"exit_code\":1");
    ck_assert_msg(strcmp(answer.errors, "Traceback (most recent call last):\n"
                                        "  File \"/tmp/cell-2.py\", line 1, in <module>\n"
                                        "    f()\n"
                                        "  File \"/tmp/cell-1.py\", line 2, in f\n"
                                        "    return 1 / 0\n"
                                        "           ~~^~~\n"
                                        "ZeroDivisionError: division by zero\n") == 0 ||
                      strstr(answer.errors, "    return 1 / 0\nZeroDivisionError") != NULL,
                  "%s", answer.errors);
    expect_cell("x = (", "");
    expect_frame("\"name\":\"SyntaxError\"");
    ck_assert_ptr_null(strstr(answer.errors, "session.py"));
    expect_cell("import sys\nsys.exit(7)", "");
    expect_frame("\"exit_code\":7");
    expect_cell("sys.exit('no')", "");
    expect_frame("\"exit_code\":1");
    ck_assert_str_eq(answer.errors, "no\n");
    expect_cell("print(x)", "5\n");
    end_session();
}
END_TEST

START_TEST(variables_of_a_cell_are_its_own)
{
    begin_everyday_session();
    expect_cell("import os\nos.environ['LANG'] = 'mine'", "");
    run_cell_with("print(os.environ['LANG'], os.environ['KEY'])", WORDS("KEY=value", "LANG=its"),
                  20000);
    ck_assert_str_eq(answer.output, "its value\n");
    expect_cell("print(os.environ['LANG'], os.environ.get('KEY'))", "mine None\n");
    end_session();
}
END_TEST

START_TEST(awaiting_at_the_top_level)
{
    begin_everyday_session();
    expect_cell("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\ny = "
                "await f()\ny",
                "");
    expect_frame("\"application/json\":7");
    expect_cell("print(y, await f())", "7 7\n");
    expect_cell("await asyncio.sleep(0)\nz = 8\n1 / 0", "");
    expect_frame("\"frames\":[{\"file\":\"/tmp/cell-3.py\",\"line\":3,");
    ck_assert_msg(strncmp(answer.errors,
                          "Traceback (most recent call last):\n  File \"/tmp/cell-3.py\", line 3,",
                          66) == 0,
                  "%s", answer.errors);
    expect_cell("print(z)", "8\n");
    run_cell_with("z = 9\nawait asyncio.sleep(60)", NULL, 300);
    ck_assert(answer.ended);
    expect_frame("\"name\":\"KeyboardInterrupt\"");
    expect_cell("print(z)", "9\n");
    end_session();
}
END_TEST

START_TEST(its_time_is_up_and_its_state_is_kept)
{
    begin_everyday_session();
    expect_cell("x = 1", "");
    run_cell_with("x = 2\nwhile True: pass", NULL, 300);
    ck_assert(answer.ended);
    expect_frame("\"name\":\"KeyboardInterrupt\"");
    expect_cell("print(x)", "2\n");
    end_session();
    expect_cause(&outcome, RUN_CAUSE_EXIT);
}
END_TEST

/* What shows a value is the program's code as well. */
START_TEST(its_time_is_up_as_it_shows_its_value)
{
    begin_everyday_session();
    expect_cell("class Thing:\n    def __repr__(self):\n        while True: pass\n", "");
    run_cell_with("x = 3\nThing()", NULL, 300);
    ck_assert(answer.ended);
    expect_cell("print(x)", "3\n");
    end_session();
}
END_TEST

START_TEST(an_interruption_that_is_not_heeded_ends_it)
{
    begin_everyday_session();
    run_cell_with("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
                  NULL, 300);
    ck_assert_msg(!answer.ended, "%s '%s'", answer.frames, answer.errors);
    run_finish(&session, &outcome);
    expect_cause(&outcome, RUN_CAUSE_WALL_TIMEOUT);
    close_fd(TAKE_FD(cells));
}
END_TEST

START_TEST(idle_and_old_ones_end)
{
    begin_session(300, 0, UINT64_C(256) << 20);
    run_finish(&session, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CANCELLED);
    close_fd(TAKE_FD(cells));
    begin_session(60000, 300, UINT64_C(256) << 20);
    run_cell_with("import time\ntime.sleep(0.6)", NULL, 20000);
    ck_assert(answer.ended);
    run_finish(&session, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CANCELLED);
    close_fd(TAKE_FD(cells));
}
END_TEST

START_TEST(its_memory_is_up)
{
    begin_session(60000, 0, UINT64_C(64) << 20);
    run_cell_with("x = bytearray(1 << 28)", NULL, 20000);
    if (!answer.ended) {
        run_finish(&session, &outcome);
        expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
        close_fd(TAKE_FD(cells));
        return;
    }
    expect_frame("\"name\":\"MemoryError\""); /* where no control group counts */
    end_session();
}
END_TEST

/* A child that falls off the end of its parent's cell does not answer in its place. */
START_TEST(a_child_does_not_answer)
{
    begin_everyday_session();
    expect_cell("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('one', flush=True)",
                "one\none\n");
    expect_cell("print('two')", "two\n");
    end_session();
}
END_TEST

START_TEST(late_output_is_not_the_next_cells)
{
    begin_everyday_session();
    char code[] = "import os, threading, time\nfd = os.dup(1)\n"
                  "def late():\n    time.sleep(0.2)\n    os.write(1, b'late\\n')\n"
                  "threading.Thread(target=late).start()\nprint('first')";
    send_order(SESSION_ORDER_CELL, 20000);
    const struct cell_pipes pipes = send_cell(code, NULL);
    memset(&answer, 0, sizeof(answer));
    read_frames(pipes.results);
    char text[16] = "";
    ck_assert(read_exactly(pipes.output, text, 6) && strcmp(text, "first\n") == 0);
    memset(text, 0, sizeof(text));
    ck_assert(read_exactly(pipes.output, text, 5) && strcmp(text, "late\n") == 0);
    close_fd(pipes.output);
    close_fd(pipes.errors);
    close_fd(pipes.results);
    expect_cell("print('second')", "second\n");
    end_session();
}
END_TEST

/* The processor time that a thread of the session has had, by its own word. */
static double seconds_of_thread(void)
{
    expect_cell("import os\nx = 1", "");
    run_cell_with("print(sum(os.times()[:2]))", NULL, 20000);
    return atof(answer.output);
}

START_TEST(it_stops_between_cells)
{
    begin_everyday_session();
    expect_cell("import os, threading\ndef spin():\n    while True: pass\n"
                "threading.Thread(target=spin, daemon=True).start()",
                "");
    double before = seconds_of_thread();
    (void)sleep(5);
    double after = seconds_of_thread();
    ck_assert_msg(after > before && after - before < 3, "%f s in five", after - before);
    end_session();
}
END_TEST

START_TEST(an_order_ends_it)
{
    static const char order = RUN_ORDER_CANCEL;
    begin_everyday_session();
    expect_cell("1", "");
    ck_assert_int_eq(channel_send(session.events, &order, 1, NULL, 0), 0);
    run_finish(&session, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CANCELLED);
    close_fd(TAKE_FD(cells));
}
END_TEST

/* An interruption between two cells is no one's. */
START_TEST(an_interruption_finds_no_cell)
{
    begin_everyday_session();
    expect_cell("x = 1", "");
    send_order(SESSION_ORDER_INTERRUPT, 0);
    expect_cell("import time\ntime.sleep(0.2)\nprint(x)", "1\n");
    end_session();
}
END_TEST

int main(void)
{
    const char *reason = lacks_program("python3");
    suite_begin("sessions");
    suite_add(state_lives_on, reason);
    suite_add(a_cell_fails_alone, reason);
    suite_add(variables_of_a_cell_are_its_own, reason);
    suite_add(awaiting_at_the_top_level, reason);
    suite_add(its_time_is_up_and_its_state_is_kept, reason);
    suite_add(its_time_is_up_as_it_shows_its_value, reason);
    suite_add(an_interruption_that_is_not_heeded_ends_it, reason);
    suite_add(idle_and_old_ones_end, reason);
    suite_add(its_memory_is_up, reason);
    suite_add(a_child_does_not_answer, reason);
    suite_add(late_output_is_not_the_next_cells, reason);
    suite_add(it_stops_between_cells, reason);
    suite_add(an_order_ends_it, reason);
    suite_add(an_interruption_finds_no_cell, reason);
    return suite_end();
}
