/* SPDX-License-Identifier: Apache-2.0 */
/* Which facts of a run make which note; tests/modes/test_notes.py has the runs. */
#include <check.h>

#include "base/cleanup.h"
#include "result/run_notes.h"
#include "tap_suite.h"

#define MIB (UINT64_C(1) << 20)

/* A run that gives no reason for a note. */
static const struct run_facts ordinary = {
    .language = "python",
    .code = "print(1)",
    .code_length = 8,
    .cause = RUN_CAUSE_EXIT,
    .memory_bytes = 64 * MIB,
    .file_bytes = MIB,
};

/* The one note, "" for none. */
static struct run_note note_of(const struct run_facts *facts)
{
    struct run_note note = {.text = ""};
    size_t count = 0;
    for (size_t rule = 0; rule < run_note_rules(); rule++)
        count += run_note_make(rule, facts, &note);
    ck_assert_msg(count <= 1, "%zu notes, the last one: %s", count, note.text);
    return note;
}

static const struct {
    uint64_t kills;
    enum run_cause cause;
    const char *note;
} memory_cases[] = {
    {1, RUN_CAUSE_EXIT, "a process of the run was killed because the memory limit of 67108864 "},
    {3, RUN_CAUSE_EXIT, "3 processes of the run were killed because the memory limit of 67108864 "},
    {2, RUN_CAUSE_WALL_TIMEOUT, "2 processes of the run were killed because "},
    {2, RUN_CAUSE_MEMORY_LIMIT, ""},
    {0, RUN_CAUSE_WALL_TIMEOUT, ""},
    {RUN_USAGE_UNKNOWN, RUN_CAUSE_WALL_TIMEOUT, ""},
};

START_TEST(killed_children)
{
    struct run_facts facts = ordinary;
    facts.memory_kills = memory_cases[_i].kills;
    facts.cause = memory_cases[_i].cause;
    struct run_note note = note_of(&facts);
    const char *expected = memory_cases[_i].note;
    ck_assert(strncmp(note.text, expected, strlen(expected)) == 0 && !note.text[0] == !expected[0]);
    ck_assert(!note.timeout_hint == !expected[0]);
}
END_TEST

static struct run_facts with_errors(const char *text)
{
    struct run_facts facts = ordinary;
    facts.exit_code = 1;
    run_words_take(text, strlen(text), &facts.errors);
    return facts;
}

/* Which of them a note about a missing library names. */
START_TEST(an_environment_with_the_module)
{
    static char data[] = "data (python): pandas 2, NumPy, scikit-learn";
    static char small[] = "small (python): numpy only";
    static char web[] = "web (javascript): express, pandas-js";
    static char odd[] = "no line of this form: pandas";
    char *environments[] = {odd, data, small, web, NULL};
    static const struct {
        const char *language;
        const char *errors;
        const char *note;
    } cases[] = {
        {"python", "ModuleNotFoundError: No module named 'pandas'\n",
         "pandas is not installed here, but in an environment that a request can name in packages: "
         "data"},
        {"python", "ModuleNotFoundError: No module named 'numpy.linalg'\n",
         "numpy.linalg is not installed here, but in an environment that a request can name in "
         "packages: data, small"},
        {"python", "ModuleNotFoundError: No module named 'sklearn'\n",
         "sklearn is not installed here, but in an environment that a request can name in "
         "packages: "
         "data"},
        {"python", "ModuleNotFoundError: No module named 'pand'\n",
         "pand is not installed, and a run installs nothing; other environments, which a request "
         "can name in packages: data, small"},
        {"javascript", "Error: Cannot find module 'pandas'\n",
         "pandas is not installed, and a run installs nothing; other environments, which a request "
         "can name in packages: web"},
        {"typescript", "Error: Cannot find module 'express'\n",
         "express is not installed here, but in an environment that a request can name in "
         "packages: "
         "web"},
        {"ruby", "cannot load such file -- pandas (LoadError)",
         "pandas is not installed, and a run installs nothing: do without it, or ask the operator "
         "for it"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_facts facts = with_errors(cases[i].errors);
        facts.language = cases[i].language;
        facts.environments = environments;
        ck_assert_str_eq(note_of(&facts).text, cases[i].note);
    }
    struct run_facts facts = with_errors("pip: cannot install x: the packages of this sandbox are "
                                         "fixed, and it has no network.");
    facts.environments = environments;
    ck_assert_str_eq(note_of(&facts).text,
                     "this run has no network, so pip, npm and other installers cannot download "
                     "anything, whatever their options; use what is installed, or ask the operator "
                     "for more; environments that packages can name: data, small");
}
END_TEST

START_TEST(a_missing_module)
{
    static char first[] = "numpy";
    static char second[] = "pandas";
    char *modules[] = {first, second, NULL};
    struct run_facts facts = with_errors("ModuleNotFoundError: No module named 'torch'\n");
    ck_assert_str_eq(note_of(&facts).text,
                     "torch is not installed, and a run installs nothing: do without it, or ask "
                     "the operator for it");
    facts.modules = modules;
    ck_assert_str_eq(note_of(&facts).text, "torch is not installed, and a run installs nothing; "
                                           "there are: numpy, pandas");
    facts.exit_code = 0;
    ck_assert_str_eq(note_of(&facts).text, "");
}
END_TEST

#define NOTHING_IS_INSTALLED                                                               \
    "this run has no network, so pip, npm and other installers cannot download anything, " \
    "whatever their options; use what is installed, or ask the operator for more"
#define NO_HOST   "this run has no network: names cannot be resolved, and no host can be reached"
#define NO_SOCKET "this run has no network: there are no internet sockets, not even for localhost; "
#define NO_PYTHON "there is no python command; where Python is installed, its command is python3"

/* What programs printed in a sandbox without network, as they did. */
static const struct {
    const char *words;
    const char *note; /* what it begins with */
} words_cases[] = {
    {"socket.gaierror: [Errno -3] Temporary failure in name resolution\n", NO_HOST},
    {"curl: (6) Could not resolve host: example.org\n", NO_HOST},
    {"Error: getaddrinfo EAI_AGAIN example.org\n", NO_HOST},
    {"wget: bad address 'example.org'\n", NO_HOST},
    {"OSError: [Errno 101] Network is unreachable\n", NO_HOST},
    {"OSError: Could not find a suitable TLS CA certificate bundle, invalid path: /etc/x\n",
     NO_HOST},
    {"OSError: [Errno 97] Address family not supported by protocol\n", NO_SOCKET},
    {"Error: listen EAFNOSUPPORT: address family not supported 0.0.0.0:8080\n", NO_SOCKET},
    {"by passing --break-system-packages.\n", NOTHING_IS_INSTALLED},
    {"error: externally-managed-environment\n", NOTHING_IS_INSTALLED},
    {"WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) "
     "after "
     "connection broken by 'NewConnectionError(': Temporary failure in name resolution')'",
     NOTHING_IS_INSTALLED},
    {"npm error code EAI_AGAIN\nnpm error errno EAI_AGAIN\n", NOTHING_IS_INSTALLED},
    {"main.sh: 1: pip: not found\n", NOTHING_IS_INSTALLED},
    {"/usr/bin/python3: No module named pip\n", NOTHING_IS_INSTALLED},
    {"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n",
     NOTHING_IS_INSTALLED},
    {"OSError: [Errno 27] File too large\n", "a file in a run can have at most 1048576 bytes"},
    {"Error: EFBIG: file too large, write\n", "a file in a run can have at most 1048576 bytes"},
    {"File size limit exceeded\n", "a file in a run can have at most 1048576 bytes"},
    {"main.sh: 1: python: not found\n", NO_PYTHON},
    {"main.bash: line 1: python: command not found\n", NO_PYTHON},
    {"main.zsh:1: command not found: python\n", NO_PYTHON},
    {"FileNotFoundError: [Errno 2] No such file or directory: 'python'\n", NO_PYTHON},
    {"/usr/bin/env: \xe2\x80\x98python\xe2\x80\x99: No such file or directory\n", NO_PYTHON},
    {"Error: spawn python ENOENT\n", NO_PYTHON},
    /* None of these. */
    {"main.bash: line 1: ipython: command not found\n", ""},
    {"main.zsh:1: command not found: python3.12\n", ""},
    {"main.sh: 1: python3: not found\n", ""},
    {"FileNotFoundError: [Errno 2] No such file or directory: 'python.txt'\n", ""},
    {"ConnectionRefusedError: [Errno 111] Connection refused\n", ""},
    {"PermissionError: [Errno 1] Operation not permitted: '/usr/x'\n", ""},
    {"chmod: changing permissions of '/usr/x': Operation not permitted\n", ""},
    {"OSError: [Errno 28] No space left on device\n", ""},
    {"the pip of an apple\n", ""},
};

/* What programs printed when memory was refused to them, as they did. */
static const char *const refused_memory[] = {
    "    x = bytearray(4 << 30)\n        ^^^^^^^^^^^^^^^^^^\nMemoryError\n",
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 32.0 GiB for an array\n",
    "OSError: [Errno 12] Cannot allocate memory\n",
    "RangeError: Array buffer allocation failed\n",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
    "main.bash: xrealloc: cannot allocate 268054528 bytes\n",
    "main.zsh:1: fatal error: out of heap memory\n",
    "Out of memory!\npanic: fold_constants JMPENV_PUSH returned 2 at main.pl line 1.\n",
    "main.rb: failed to allocate memory (NoMemoryError)\n",
};

START_TEST(memory_that_is_refused)
{
    struct run_facts facts = with_errors(refused_memory[_i]);
    ck_assert_str_eq(note_of(&facts).text, "");
    facts.memory_is_refused = true;
    ck_assert_str_eq(note_of(&facts).text,
                     "each process of this run can have at most 67108864 bytes of memory, and is "
                     "refused more when it asks for it");
    facts.cause = RUN_CAUSE_MEMORY_LIMIT;
    ck_assert_str_eq(note_of(&facts).text, "");
    facts.cause = RUN_CAUSE_EXIT;
    facts.memory_bytes = 0;
    ck_assert_str_eq(note_of(&facts).text, "");
    facts = with_errors("ValueError: a MemoryError is none\n");
    facts.memory_is_refused = true;
    ck_assert_str_eq(note_of(&facts).text, "");
}
END_TEST

static bool begins_with(const char *text, const char *beginning)
{
    return beginning[0] ? strncmp(text, beginning, strlen(beginning)) == 0 : !text[0];
}

/* On either stream, and whatever the exit status: programs print what their children said. */
START_TEST(words_of_programs)
{
    const char *words = words_cases[_i].words;
    struct run_facts facts = with_errors(words);
    struct run_note note = note_of(&facts);
    ck_assert_msg(begins_with(note.text, words_cases[_i].note), "%s: %s", words, note.text);
    facts = ordinary;
    run_words_take(words, strlen(words), &facts.output);
    ck_assert_str_eq(note_of(&facts).text, note.text);
}
END_TEST

START_TEST(with_network_nothing_is_said_of_it)
{
    struct run_facts facts = with_errors(words_cases[_i].words);
    facts.has_network = true;
    facts.file_bytes = 0;
    struct run_note note = note_of(&facts);
    ck_assert_msg(!note.text[0] || strcmp(note.text, NO_PYTHON) == 0, "%s", note.text);
}
END_TEST

START_TEST(a_file_limit_that_is_the_cause)
{
    struct run_facts facts = with_errors("File size limit exceeded\n");
    facts.cause = RUN_CAUSE_FILE_LIMIT;
    ck_assert_str_eq(note_of(&facts).text, "");
}
END_TEST

/* Words of programs without namespaces, and a part of the note about them. */
static const struct {
    const char *words;
    const char *note;
} unprivileged_cases[] = {
    {"PermissionError: [Errno 13] Permission denied: '/tmp/x'\n", "the variable TMPDIR"},
    {"main.sh: 1: cannot create /tmp/x: Permission denied\n", "the variable TMPDIR"},
    {"main.bash: line 1: /tmp/x: Permission denied\n", "the variable TMPDIR"},
    {"Error: EACCES: permission denied, open '/tmp/x'\n", "the variable TMPDIR"},
    {"PermissionError: [Errno 13] Permission denied: '/etc/shadow'\n", NULL},
    {"PermissionError: [Errno 13] Permission denied: '/var/tmp/x'\n", NULL},
    {"FileNotFoundError: [Errno 2] No such file or directory: '/tmp/x'\n", NULL},
    {"  File \"/tmp/code-execute-1-a/home/main.py\", line 1\nPermissionError: Permission denied\n",
     NULL},
    {"main.sh: 1: cannot create /tmp/code-execute-1-a/home/x: Permission denied\n", NULL},
    {"    sl = self._semlock = _multiprocessing.SemLock(\nPermissionError: [Errno 13] Permission "
     "denied\n",
     "use threads, or Process with Pipe"},
};

START_TEST(what_is_missing_without_namespaces)
{
    const char *words = unprivileged_cases[_i].words;
    const char *expected = unprivileged_cases[_i].note;
    struct run_facts facts = with_errors(words);
    ck_assert_str_eq(note_of(&facts).text, "");
    facts.is_unprivileged = true;
    struct run_note note = note_of(&facts);
    ck_assert_msg(expected ? strstr(note.text, expected) != NULL : !note.text[0], "%s: %s", words,
                  note.text);
}
END_TEST

START_TEST(a_note_advises_sockets_that_there_are)
{
    struct run_facts facts = with_errors("OSError: [Errno 97] Address family not supported by "
                                         "protocol\n");
    struct run_note note = note_of(&facts);
    ck_assert_ptr_nonnull(strstr(note.text, "over Unix sockets and pipes"));
    facts.is_unprivileged = true;
    note = note_of(&facts);
    ck_assert_ptr_nonnull(strstr(note.text, "over socketpair() and pipes"));
}
END_TEST

static struct run_facts with_code(const char *code)
{
    struct run_facts facts = ordinary;
    facts.code = code;
    facts.code_length = strlen(code);
    return facts;
}

static const struct {
    const char *code;
    const char *argument;
    bool installs;
} silent_installers[] = {
    {"npm install left-pad", NULL, true},
    {"import subprocess\nsubprocess.run(['pip3','install','x'])", NULL, true},
    {"exec \"$@\"", "npx", true},
    {"exec \"$@\"", "npm-like", false},
    {"sleep 30", NULL, false},
    {"pipe=1; pip_x=2; npmrc=3; snap-apt=1", NULL, false},
};

/* npm says nothing until its last attempt. */
START_TEST(an_installer_that_waits_until_its_time_is_up)
{
    char argument[16] = "";
    char *arguments[] = {argument, NULL};
    struct run_facts facts = with_code(silent_installers[_i].code);
    if (silent_installers[_i].argument) {
        strcpy(argument, silent_installers[_i].argument);
        facts.arguments = arguments;
    }
    ck_assert_str_eq(note_of(&facts).text, ""); /* it may have worked without network */
    facts.cause = RUN_CAUSE_WALL_TIMEOUT;
    facts.exit_code = -1;
    struct run_note note = note_of(&facts);
    ck_assert_str_eq(note.text, silent_installers[_i].installs ? NOTHING_IS_INSTALLED : "");
    ck_assert(!note.timeout_hint == !silent_installers[_i].installs);
    facts.has_network = true;
    ck_assert_str_eq(note_of(&facts).text, "");
}
END_TEST

START_TEST(a_note_lists_the_installed_modules)
{
    static char name[] = "numpy";
    char *modules[] = {name, NULL};
    struct run_facts facts = with_errors("--break-system-packages");
    facts.modules = modules;
    struct run_note note = note_of(&facts);
    const char *text = note.text;
    ck_assert_msg(strstr(text, "options; installed beyond the standard library: numpy"), "%s",
                  text);
}
END_TEST

START_TEST(words_are_the_end_of_a_stream)
{
    struct run_words words;
    char long_text[2 * RUN_OUTPUT_LIMIT];
    run_words_take(NULL, 0, &words);
    ck_assert_str_eq(words.text, "");
    run_words_take("a\0b\0", 4, &words);
    ck_assert_str_eq(words.text, "a b ");
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = 'y';
    run_words_take(long_text, sizeof(long_text), &words);
    ck_assert_uint_eq(strlen(words.text), RUN_OUTPUT_LIMIT - 1);
    ck_assert_int_eq(words.text[RUN_OUTPUT_LIMIT - 2], 'y');
}
END_TEST

START_TEST(an_ordinary_run_has_none)
{
    ck_assert_str_eq(note_of(&ordinary).text, "");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("run notes");
    tcase_add_test(tests, an_ordinary_run_has_none);
    tcase_add_loop_test(tests, killed_children, 0, COUNT_OF(memory_cases));
    tcase_add_test(tests, a_missing_module);
    tcase_add_test(tests, an_environment_with_the_module);
    tcase_add_loop_test(tests, words_of_programs, 0, COUNT_OF(words_cases));
    tcase_add_loop_test(tests, with_network_nothing_is_said_of_it, 0, COUNT_OF(words_cases));
    tcase_add_test(tests, a_file_limit_that_is_the_cause);
    tcase_add_loop_test(tests, memory_that_is_refused, 0, COUNT_OF(refused_memory));
    tcase_add_loop_test(tests, what_is_missing_without_namespaces, 0, COUNT_OF(unprivileged_cases));
    tcase_add_test(tests, a_note_advises_sockets_that_there_are);
    tcase_add_loop_test(tests, an_installer_that_waits_until_its_time_is_up, 0,
                        COUNT_OF(silent_installers));
    tcase_add_test(tests, a_note_lists_the_installed_modules);
    tcase_add_test(tests, words_are_the_end_of_a_stream);
    return run_suite("run notes", &tests, 1);
}
