/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error object of the plugin: its code, a message and a remedy. A function that can fail takes
 * it as its last parameter, returns -1 (or false, or NULL) on failure and has then filled it; on
 * success it is untouched. Fixed buffers: reporting an error never allocates. The table of codes is
 * also the manifest's "errors" and docs/errors.md. Any thread; owned by the caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(constant, name) - the result's "status". */
#define CALL_STATUSES(X)                                                                       \
    X(COMPLETED, "completed") /* the program ended by itself, whatever its exit code */        \
    X(TIMEOUT, "timeout")     /* its time was up */                                            \
    X(KILLED, "killed")       /* a limit, a signal or a forbidden system call ended it */      \
    X(CANCELLED, "cancelled") /* the host cancelled the call */                                \
    X(DENIED, "denied")       /* nothing ran: capability, policy or approver said no */        \
    X(PENDING, "pending")     /* nothing ran yet: the approval request waits for its answer */ \
    X(ERROR, "error")         /* nothing ran, or how it ended is not known: see error */

enum call_status {
#define X(constant, name) CALL_##constant,
    CALL_STATUSES(X)
#undef X
        CALL_STATUS_COUNT
};

const char *call_status_name(enum call_status status);

/* X(constant, name, status of a call that ends with it, retryable, meaning, default hint). Codes
 * are never renamed: agents branch on them. */
#define ERROR_CODES(X)                                                                             \
    X(INVALID_INPUT, "invalid_input", ERROR, false, "the request does not fit the input schema",   \
      "correct the member that the message names and call again")                                  \
    X(INVALID_HOST, "invalid_host", ERROR, false, "the gateway calls the provider wrongly",        \
      "no change of the request helps: the gateway's author must fix what the message names")      \
    X(UNKNOWN_TOOL, "unknown_tool", ERROR, false, "no tool of that name", "call code_execute")     \
    X(UNKNOWN_LANGUAGE, "unknown_language", ERROR, false, "no language of that name",              \
      "use one of the languages of the input schema")                                              \
    X(LANGUAGE_NOT_ALLOWED, "language_not_allowed", DENIED, false,                                 \
      "the policy does not offer the language",                                                    \
      "use another language, or ask the operator to add it to the policy's \"languages\"")         \
    X(UNKNOWN_MODE, "unknown_mode", ERROR, false, "no sandbox mode of that name",                  \
      "set CODE_EXEC_SANDBOX to a mode that the policy allows")                                    \
    X(MODE_NOT_ALLOWED, "mode_not_allowed", DENIED, false,                                         \
      "the policy does not allow the sandbox mode",                                                \
      "ask for a mode of the policy's \"modes\", or change the policy")                            \
    X(INVALID_POLICY, "invalid_policy", ERROR, false,                                              \
      "the policy or configuration cannot be used",                                                \
      "correct the file at the place that the message names; until then nothing runs")             \
    X(POLICY_DENIED, "policy_denied", DENIED, false, "a rule of the policy refuses the request",   \
      "change the request, or ask the operator to change the policy")                              \
    X(CONTENT_REFUSED, "content_refused", DENIED, false,                                           \
      "the policy refuses something in the program's text, or the text could not be checked",      \
      "change what the message names, or ask the operator to change \"content_checks\"")           \
    X(LIMIT_TOO_HIGH, "limit_too_high", DENIED, false,                                             \
      "the request asks for more than the policy's ceiling", "ask for less")                       \
    X(ACCESS_DENIED, "access_denied", DENIED, false,                                               \
      "policy or host does not grant a needed capability",                                         \
      "do without it, or ask the gateway's operator to grant it")                                  \
    X(APPROVAL_DENIED, "approval_denied", DENIED, false, "the approver said no",                   \
      "do not repeat the same request; change it according to the reason, or ask the user")        \
    X(APPROVAL_UNAVAILABLE, "approval_unavailable", DENIED, false,                                 \
      "approval is needed and nobody can give it",                                                 \
      "the gateway's operator must name an approver that can be asked, or the policy must allow "  \
      "the request without")                                                                       \
    X(APPROVAL_TIMEOUT, "approval_timeout", DENIED, true,                                          \
      "nobody answered the approval request in time", "call again when an approver is available")  \
    X(APPROVAL_PENDING, "approval_pending", PENDING, true,                                         \
      "the approval request waits for its answer",                                                 \
      "repeat the identical call after it was answered")                                           \
    X(APPROVAL_MISMATCH, "approval_mismatch", DENIED, false,                                       \
      "the decision was made for another request than the one that would run",                     \
      "call again, so that this request is shown; a decision cannot be carried over")              \
    X(APPROVAL_REPLAYED, "approval_replayed", DENIED, false,                                       \
      "the approval request was answered twice, and differently",                                  \
      "call again, so that approval is asked for anew; an approver must answer a token only once") \
    X(FILE_NOT_FOUND, "file_not_found", ERROR, false,                                              \
      "the gateway offers no file of that reference, or did not open it",                          \
      "use a ref that you were offered, or give the file's content")                               \
    X(FILE_CHANGED, "file_changed", ERROR, true,                                                   \
      "a file by reference is not the one that was listed or approved, so nothing ran",            \
      "call again, so that the file is read anew")                                                 \
    X(SESSION_NOT_FOUND, "session_not_found", ERROR, false,                                        \
      "this caller has no session of that id",                                                     \
      "use the id of session.id in an earlier result, or \"new\" for a new session")               \
    X(SESSION_BUSY, "session_busy", ERROR, true, "the session executes another cell",              \
      "call again when that one has ended: a session executes one cell at a time")                 \
    X(SESSION_LOST, "session_lost", ERROR, false, "the session has ended, and its state with it",  \
      "begin a new session with \"session\": \"new\" and repeat what it needs")                    \
    X(CHECKPOINT_UNAVAILABLE, "checkpoint_unavailable", ERROR, false,                              \
      "the session has no checkpoint to go back to, or cannot be copied",                          \
      "repeat what is needed in a new session; session.checkpoint of a result says why a cell "    \
      "has "                                                                                       \
      "none ahead of it")                                                                          \
    X(ENVIRONMENT_CHANGED, "environment_changed", ERROR, false,                                    \
      "a set of packages is not there as it was built",                                            \
      "leave packages out, or ask the operator to run: toolhost env build NAME")                   \
    X(ENVIRONMENT_NOT_BUILT, "environment_not_built", ERROR, false,                                \
      "a set of packages could not be built",                                                      \
      "the operator must correct what the message names, such as the lock file")                   \
    X(UNKNOWN_SECRET, "unknown_secret", ERROR, false, "no provider has a secret of that name",     \
      "check the handle's name, or ask the operator to provide the secret")                        \
    X(SECRET_NOT_ALLOWED, "secret_not_allowed", DENIED, false,                                     \
      "the policy does not list the secret",                                                       \
      "ask the operator to add it to the policy's \"secrets\"")                                    \
    X(SECRET_TOO_LARGE, "secret_too_large", ERROR, false,                                          \
      "the secret is longer than a secret may be", "ask the operator for a shorter one")           \
    X(SECRET_UNUSABLE, "secret_unusable", ERROR, false,                                            \
      "the secret cannot be delivered in the way that the policy says",                            \
      "ask the operator to deliver it as a file (the policy's \"secrets\": \"delivery\")")         \
    X(SECRET_UNAVAILABLE, "secret_unavailable", ERROR, true,                                       \
      "a provider of the policy has the secret but cannot deliver it",                             \
      "the operator must fix what the message names; another name does not help")                  \
    X(AUDIT_UNAVAILABLE, "audit_unavailable", ERROR, false,                                        \
      "the start record could not be stored, so nothing ran",                                      \
      "the gateway must offer audit, and its log must be writable")                                \
    X(SANDBOX_UNAVAILABLE, "sandbox_unavailable", ERROR, false,                                    \
      "this machine cannot give a layer that the mode or policy needs", "run: toolhost doctor")    \
    X(BACKEND_UNAVAILABLE, "backend_unavailable", ERROR, false,                                    \
      "the mode's backend is missing or does not start", "run: toolhost doctor")                   \
    X(BACKEND_FAILED, "backend_failed", ERROR, true,                                               \
      "the backend ended or stopped answering during the call",                                    \
      "call again; if it repeats, run: toolhost doctor")                                           \
    X(WORKER_LOST, "worker_lost", ERROR, false,                                                    \
      "the connection to the worker was lost when the program may have begun",                     \
      "it may have run, in part or to its end, and nothing repeats it by itself: check what it "   \
      "was to do before you call again")                                                           \
    X(RUNTIME_NOT_FOUND, "runtime_not_found", ERROR, false,                                        \
      "the language's program is not installed",                                                   \
      "install the package that brings it, or use another language")                               \
    X(NOT_SUPPORTED, "not_supported", ERROR, false, "this version cannot do that yet",             \
      "leave the member out")                                                                      \
    X(TOO_MANY_REQUESTS, "too_many_requests", ERROR, true,                                         \
      "as many calls are under way as the policy allows",                                          \
      "call again in a moment, or after retry_after_ms where it is given")                         \
    X(TIMEOUT, "timeout", TIMEOUT, false, "the program did not end within its time",               \
      "make the program faster or split the work")                                                 \
    X(CPU_LIMIT, "cpu_limit", KILLED, false, "the program used up its processor time",             \
      "make the program cheaper or split the work")                                                \
    X(MEMORY_LIMIT, "memory_limit", KILLED, false,                                                 \
      "the program needed more memory than it may have", "process the data in smaller pieces")     \
    X(PROCESS_LIMIT, "process_limit", KILLED, false,                                               \
      "the program started more processes or threads than it may",                                 \
      "use fewer processes or threads")                                                            \
    X(OUTPUT_LIMIT, "output_limit", KILLED, false, "the program printed more than it may",         \
      "print less: summarise")                                                                     \
    X(FILE_LIMIT, "file_limit", KILLED, false, "the program wrote a larger file than it may",      \
      "write smaller files")                                                                       \
    X(DISK_FULL, "disk_full", KILLED, false, "the program filled its file space",                  \
      "write less, or delete files that are no longer needed")                                     \
    X(KILLED_BY_SIGNAL, "killed_by_signal", KILLED, false, "a signal ended the program",           \
      "the signal's name says why; SIGSEGV and SIGABRT are faults of the program")                 \
    X(FORBIDDEN_SYSCALL, "forbidden_syscall", KILLED, false,                                       \
      "the program made a system call that no honest program makes", "do without it")              \
    X(CANCELLED, "cancelled", CANCELLED, false, "the host cancelled the call", "nothing to do")    \
    X(OUT_OF_MEMORY, "out_of_memory", ERROR, true, "the gateway is out of memory",                 \
      "call again later")                                                                          \
    X(INTERNAL, "internal", ERROR, false, "a fault in the provider", "report it with the message")

enum error_code {
#define X(constant, name, status, retryable, meaning, hint) ERROR_##constant,
    ERROR_CODES(X)
#undef X
        ERROR_CODE_COUNT
};

struct error {
    enum error_code code;
    char message[512];
    char hint[512];
    uint64_t retry_after_ms; /* 0: unknown; set after the code where it is known */
};

/* Fills the error with a formatted message and the code's default hint; returns -1. */
int error_set(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(1, 3)));
/* The same, with the system's text for error_number after the message (0: none); returns -1. */
int error_set_errno(struct error *error, enum error_code code, int error_number, const char *format,
                    ...) __attribute__((format(printf, 4, 5), nonnull(1, 4)));
/* Replaces the hint. */
void error_set_hint(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
/* Puts "context: " before the message; returns -1. */
int error_add_context(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));

const char *error_code_name(enum error_code code);
/* Of a program that met a limit and still ended by itself the status is "completed" all the same.
 */
enum call_status error_code_status(enum error_code code);
bool error_code_retryable(enum error_code code);
const char *error_code_meaning(enum error_code code);
const char *error_code_hint(enum error_code code);
