/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rules and the words of notes about runs: see run_notes.h. */
#include "result/run_notes.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define NAMES_LIMIT        200 /* bytes of a list of modules */
#define ENVIRONMENTS_LIMIT 100 /* and of environments */

struct note_rule {
    bool (*applies)(const struct run_facts *facts);
    void (*write)(const struct run_facts *facts, char text[RUN_NOTE_LIMIT]);
    const char *timeout_hint;
};

/* Words of C libraries, interpreters and tools for a name that was not looked up or a host that was
 * not reached. Without network there are no certificates to be seen either. */
static const char *const unreachable[] = {
    "Temporary failure in name resolution", /* glibc, EAI_AGAIN */
    "Name or service not known",
    "Name does not resolve", /* musl */
    "[Errno -3] Try again",
    "getaddrinfo EAI_AGAIN", /* Node */
    "getaddrinfo ENOTFOUND",
    "Could not resolve host",         /* curl, git */
    "unable to resolve host address", /* wget */
    "wget: bad address",
    "Network is unreachable",
    "ENETUNREACH",
    "Could not find a suitable TLS CA certificate bundle", /* Python's requests, pip */
    NULL,
};

/* The list of system calls refuses them with EAFNOSUPPORT, in both modes. */
static const char *const no_sockets[] = {
    "Address family not supported by protocol",
    "EAFNOSUPPORT",
    NULL,
};

/* Words of installers that cannot install. */
static const char *const cannot_install[] = {
    "--break-system-packages", /* pip's advice, PEP 668 */
    "externally-managed-environment",
    "Retrying (Retry(total=", /* pip */
    "No matching distribution found for ",
    "npm error code EAI_AGAIN",
    "npm ERR! code EAI_AGAIN",
    "npm error code ENOTCACHED",
    "https://registry.npmjs.org/",
    "https://registry.yarnpkg.com/",
    "No module named pip\n",
    " pip: not found",
    " pip: command not found",
    " pip3: not found",
    " pip3: command not found",
    " npm: not found",
    " npm: command not found",
    "dpkg frontend lock",
    "the packages of this sandbox are fixed", /* our own commands in their place */
    NULL,
};

/* Of a program that does not show what an installer has said. */
static const char *const child_failed[] = {
    "returned non-zero exit status 1", /* Python's subprocess */
    "Command failed: ",                /* Node's child_process */
    NULL,
};

static const char *const installers[] = {"pip", "pip3", "npm",     "npx", "pnpm",   "yarn", "uv",
                                         "apt", "gem",  "apt-get", "apk", "bundle", NULL};

static const char *const no_python[] = {
    " python: not found",                                        /* dash, busybox */
    " python: command not found",                                /* bash */
    "command not found: python\n",                               /* zsh */
    "No such file or directory: 'python'\n",                     /* Python's subprocess */
    "\xe2\x80\x98python\xe2\x80\x99: No such file or directory", /* env */
    "'python': No such file or directory",
    "spawn python ENOENT", /* Node */
    NULL,
};

/* The beginning of a path, as it is in words about a file; and that of the program's own places. */
static const char *const in_tmp[] = {"'/tmp/", "\"/tmp/", " /tmp/", NULL};
#define OWN_PLACE "code-execute-"

/* Python's multiprocessing makes its locks of files in /dev/shm. */
static const char *const no_semaphores[] = {"_multiprocessing.SemLock(", NULL};

static const char *const too_large[] = {"File too large", "EFBIG", "File size limit exceeded",
                                        NULL};

/* Words of C libraries and interpreters for memory that was refused. */
static const char *const no_memory[] = {
    "\nMemoryError", /* Python, behind the traceback; numpy */
    "MemoryError: Unable to allocate ",
    "Cannot allocate memory", /* strerror(ENOMEM) */
    "ENOMEM",
    ": cannot allocate ",             /* bash */
    "out of heap memory",             /* zsh */
    "Array buffer allocation failed", /* Node */
    "heap out of memory",
    "Out of memory!", /* Perl, also in a shell's words about a child */
    "Out of memory in perl",
    "(NoMemoryError)",     /* Ruby */
    "Out of memory (",     /* PHP */
    ": not enough memory", /* Lua */
    "std::bad_alloc",
    "cannot allocate vector of size", /* R */
    "memory exhausted",               /* GNU's tools */
    NULL,
};

static bool says(const struct run_facts *facts, const char *const *phrases)
{
    for (; *phrases; phrases++)
        if (strstr(facts->errors.text, *phrases) || strstr(facts->output.text, *phrases))
            return true;
    return false;
}

static bool is_part_of_word(char c)
{
    return ascii_is_alphanumeric(c) || c == '_' || c == '-';
}

static bool has_word(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    const char *end = text + length;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, size)); at++) {
        bool begins = at == text || !is_part_of_word(at[-1]);
        if (begins && (at + size == end || !is_part_of_word(at[size])))
            return true;
    }
    return false;
}

static bool names_installer(const struct run_facts *facts)
{
    for (const char *const *word = installers; *word; word++) {
        if (has_word(facts->code, facts->code_length, *word))
            return true;
        for (char *const *argument = facts->arguments; argument && *argument; argument++)
            if (has_word(*argument, strlen(*argument), *word))
                return true;
    }
    return false;
}

/* Names as far as they fit. */
static void join_names(char *const *names, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (; names && *names && length + 1 < size; names++) {
        int added = snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", *names);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* If the program itself was killed, the error says so. */
static bool child_was_killed_for_memory(const struct run_facts *facts)
{
    return facts->memory_kills > 0 && facts->memory_kills != RUN_USAGE_UNKNOWN &&
           facts->cause != RUN_CAUSE_MEMORY_LIMIT;
}

static void write_memory_kills(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    if (facts->memory_kills == 1)
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "a process of the run was killed because the memory limit of %llu bytes "
                       "was reached; the program went on without it",
                       (unsigned long long)facts->memory_bytes);
    else
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "%llu processes of the run were killed because the memory limit of %llu "
                       "bytes was reached; the program went on without them",
                       (unsigned long long)facts->memory_kills,
                       (unsigned long long)facts->memory_bytes);
}

/* If the program itself ended for that, as far as is known, the error says so. */
static bool is_refused_memory(const struct run_facts *facts)
{
    return facts->memory_is_refused && facts->memory_bytes > 0 &&
           facts->cause != RUN_CAUSE_MEMORY_LIMIT && says(facts, no_memory);
}

static void write_memory_limit(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)snprintf(
        text, RUN_NOTE_LIMIT,
        "each process of this run can have at most %llu bytes of memory, and is refused more "
        "when it asks for it",
        (unsigned long long)facts->memory_bytes);
}

static bool module_is_missing(const struct run_facts *facts)
{
    char name[MISSING_MODULE_LIMIT + 1];
    return facts->exit_code > 0 && missing_module_find(facts->language, facts->errors.text, name);
}

static void write_missing_module(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    char name[MISSING_MODULE_LIMIT + 1] = "";
    char there[NAMES_LIMIT];
    char having[ENVIRONMENTS_LIMIT];
    char named[ENVIRONMENTS_LIMIT];
    (void)missing_module_find(facts->language, facts->errors.text, name);
    join_names(facts->modules, there, sizeof(there));
    environments_name(facts->environments, facts->language, name, having, sizeof(having));
    environments_name(facts->environments, facts->language, NULL, named, sizeof(named));
    if (having[0])
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "%s is not installed here, but in an environment that a request can name in "
                       "packages: %s",
                       name, having);
    else if (there[0] || named[0])
        (void)snprintf(
            text, RUN_NOTE_LIMIT, "%s is not installed, and a run installs nothing; %s%s%s%s%s",
            name, there[0] ? "there are: " : "", there, there[0] && named[0] ? "; " : "",
            named[0] ? "other environments, which a request can name in packages: " : "", named);
    else
        (void)snprintf(text, RUN_NOTE_LIMIT,
                       "%s is not installed, and a run installs nothing: do without it, or ask "
                       "the operator for it",
                       name);
}

/* An installer without network reports it, or retries until its time is up. */
static bool installs_without_network(const struct run_facts *facts)
{
    if (facts->has_network)
        return false;
    return says(facts, cannot_install) ||
           ((facts->cause == RUN_CAUSE_WALL_TIMEOUT || says(facts, unreachable) ||
             says(facts, child_failed)) &&
            names_installer(facts));
}

static void write_no_installation(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    char there[NAMES_LIMIT];
    char named[ENVIRONMENTS_LIMIT];
    join_names(facts->modules, there, sizeof(there));
    environments_name(facts->environments, facts->language, NULL, named, sizeof(named));
    (void)snprintf(text, RUN_NOTE_LIMIT,
                   "this run has no network, so pip, npm and other installers cannot download "
                   "anything, whatever their options; %s%s%s%s",
                   there[0] ? "installed beyond the standard library: "
                            : "use what is installed, or ask the operator for more",
                   there, named[0] ? "; environments that packages can name: " : "", named);
}

static bool reaches_no_host(const struct run_facts *facts)
{
    return !facts->has_network && !installs_without_network(facts) && says(facts, unreachable);
}

static void write_no_host(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)facts;
    (void)snprintf(text, RUN_NOTE_LIMIT,
                   "this run has no network: names cannot be resolved, and no host can be reached");
}

static bool makes_no_socket(const struct run_facts *facts)
{
    return !facts->has_network && says(facts, no_sockets);
}

static void write_no_socket(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)snprintf(text, RUN_NOTE_LIMIT,
                   "this run has no network: there are no internet sockets, not even for "
                   "localhost; processes of the run can talk over %s and pipes",
                   facts->is_unprivileged ? "socketpair()" : "Unix sockets");
}

/* In one line, with the words of strerror(). */
static bool is_denied_tmp(const char *text)
{
    for (const char *at = text; (at = strcasestr(at, "permission denied")); at++) {
        const char *line = memrchr(text, '\n', (size_t)(at - text));
        line = line ? line + 1 : text;
        size_t length = strcspn(line, "\n");
        for (const char *const *path = in_tmp; *path; path++) {
            const char *found = memmem(line, length, *path, strlen(*path));
            if (found && strncmp(found + strlen(*path), OWN_PLACE, strlen(OWN_PLACE)) != 0)
                return true;
        }
    }
    return false;
}

static bool writes_to_tmp(const struct run_facts *facts)
{
    return facts->is_unprivileged &&
           (is_denied_tmp(facts->errors.text) || is_denied_tmp(facts->output.text));
}

static void write_no_tmp(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)facts;
    (void)snprintf(text, RUN_NOTE_LIMIT,
                   "nothing can be written to /tmp here: use the working directory, or the "
                   "directory that the variable TMPDIR names");
}

static bool wrote_too_much(const struct run_facts *facts)
{
    return facts->file_bytes > 0 && facts->cause != RUN_CAUSE_FILE_LIMIT && says(facts, too_large);
}

static void write_file_limit(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)snprintf(text, RUN_NOTE_LIMIT, "a file in a run can have at most %llu bytes",
                   (unsigned long long)facts->file_bytes);
}

static bool finds_no_python(const struct run_facts *facts)
{
    return says(facts, no_python);
}

static void write_no_python(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)facts;
    (void)snprintf(text, RUN_NOTE_LIMIT,
                   "there is no python command; where Python is installed, its command is python3");
}

static bool makes_no_semaphore(const struct run_facts *facts)
{
    return facts->is_unprivileged && says(facts, no_semaphores);
}

static void write_no_semaphore(const struct run_facts *facts, char text[RUN_NOTE_LIMIT])
{
    (void)facts;
    (void)snprintf(text, RUN_NOTE_LIMIT,
                   "there are no semaphores for several processes here, so no locks, queues and "
                   "pools of multiprocessing: use threads, or Process with Pipe");
}

static const struct note_rule rules[] = {
    {child_was_killed_for_memory, write_memory_kills,
     "use less memory, or fewer processes at a time: one was killed because memory ran out, and "
     "the program may have waited for it until its time limit"},
    {is_refused_memory, write_memory_limit, NULL},
    {module_is_missing, write_missing_module, NULL},
    {installs_without_network, write_no_installation,
     "if the program waited for a download, do without it: the run has no network, and more time "
     "does not help; else make the program faster, or split the work"},
    {reaches_no_host, write_no_host,
     "if the program waited for another host, do without it: the run has no network, and more time "
     "does not help; else make the program faster, or split the work"},
    {makes_no_socket, write_no_socket, NULL},
    {writes_to_tmp, write_no_tmp, NULL},
    {makes_no_semaphore, write_no_semaphore, NULL},
    {wrote_too_much, write_file_limit, NULL},
    {finds_no_python, write_no_python, NULL},
};

void run_words_take(const char *text, size_t length, struct run_words *ret)
{
    size_t kept = length < sizeof(ret->text) ? length : sizeof(ret->text) - 1;
    if (kept > 0)
        memcpy(ret->text, text + length - kept, kept);
    ret->text[kept] = '\0';
    for (char *nul = ret->text; (nul = memchr(nul, '\0', (size_t)(ret->text + kept - nul)));)
        *nul = ' ';
}

size_t run_note_rules(void)
{
    return COUNT_OF(rules);
}

bool run_note_make(size_t rule, const struct run_facts *facts, struct run_note *ret)
{
    if (!rules[rule].applies(facts))
        return false;
    rules[rule].write(facts, ret->text);
    ret->timeout_hint = rules[rule].timeout_hint;
    return true;
}
