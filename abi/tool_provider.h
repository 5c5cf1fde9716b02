/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool_provider.h - the tool-provider ABI, version 1.3.
 *
 * A provider is a shared object that offers tools to an AI-agent gateway (the host). The host loads
 * it with dlopen(), looks the functions below up with dlsym(), reads the manifest and invokes tools
 * with JSON. This header is the whole contract; it needs nothing but <stddef.h> and <stdint.h>, and
 * compiles as C99 and as C++17.
 *
 * COMPATIBILITY PROMISE, for all of version 1:
 *   1. A function declared here is never removed and never changes its signature or its meaning.
 *   2. struct tool_host only grows at its end. The host writes the size it was compiled with into
 *      struct_size; the provider reads no byte beyond it and takes what is not there as zero
 * (NULL). A host older or newer than the provider therefore works.
 *   3. Values that a function returns to the host are a closed set: a 1.x provider never returns
 * one that is not in this header's 1.0 edition. What must grow, grows inside the JSON.
 *   4. New functions may come with a minor version. They are optional: the host looks them up with
 *      dlsym() and does without where they are absent.
 *   5. A different major version is a different ABI: the host must refuse it.
 *
 * MEMORY. Who allocates is said at each function. A string that the provider hands over is released
 * with the provider's own tool_free(), never with free(). Nothing that the host lends (struct
 * tool_host, its strings, the input) is read after the function it was lent to has returned.
 *
 * THREADS. What is tagged [any-thread] may be called from any thread, at the same time as any other
 * function, itself included. What is tagged [callback] is called by the provider on the thread that
 * is inside tool_invoke(), one at a time for that call, never after tool_invoke() has returned;
 * other calls call back concurrently. The provider starts no thread, installs no signal handler and
 * leaves the signal mask, dispositions, working directory, umask, environment, locale and resource
 * limits of the process alone.
 *
 * EXCEPTIONS. Nothing may unwind (C++ throw, Rust panic, longjmp) through a provider's frame. A
 * callback of a language binding that raises and returns has written no verdict, and so has denied.
 *
 * STRINGS are NUL-terminated UTF-8 unless a length stands beside them.
 */
#ifndef TOOL_PROVIDER_H
#define TOOL_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOOL_ABI_VERSION_MAJOR 1u
#define TOOL_ABI_VERSION_MINOR 3u
/* What tool_abi_version() of a provider built with this header returns: major << 16 | minor. */
#define TOOL_ABI_VERSION ((TOOL_ABI_VERSION_MAJOR << 16) | TOOL_ABI_VERSION_MINOR)

/* Marks the functions a provider exports, so that it can be built with hidden visibility. */
#if defined(__GNUC__)
#define TOOL_EXPORT __attribute__((visibility("default")))
#else
#define TOOL_EXPORT
#endif

/*
 * Verdicts, written by callbacks through an out-parameter that the provider sets to
 * TOOL_VERDICT_DENY before the call. Any value but the ones named here denies. The permitting ones
 * are odd-looking on purpose: no stray 1, -1 or leftover pointer is one of them. Rationale:
 * verdicts are not return values, because a binding whose callback raised leaves garbage or the
 * last value in the return slot, and so would fail open.
 */
#define TOOL_VERDICT_DENY  UINT32_C(0)
#define TOOL_VERDICT_ALLOW UINT32_C(0x600DCA11)
/* request_approval: the answer comes through tool_reply_approval(); the call waits for it.
 * call_tool: it comes through tool_reply_call(); the program waits for it. */
#define TOOL_VERDICT_LATER UINT32_C(0x1A7E4001)
/* request_approval only: nobody waits; the call returns status "pending" (error approval_pending)
 * and an identical later call uses the answer that tool_reply_approval() has brought by then. */
#define TOOL_VERDICT_PENDING UINT32_C(0x9E4D0001)
/* read_secret only: the host has no secret of that name and no objection to another source of the
 * provider's operator. A provider that does not know it denies. */
#define TOOL_VERDICT_ABSENT UINT32_C(0xAB5E4701)

/* What tool_invoke(), tool_prepare() and tool_status() return. */
#define TOOL_OK                                                                                    \
    0 /* the tool ran, or may have (its program may still have failed); the JSON says how it ended \
       */
#define TOOL_NOT_RUN 1    /* nothing ran; the JSON's "error" object says why */
#define TOOL_FAILED  (-1) /* out of memory, or called wrongly: no JSON was made */

/* What tool_cancel(), tool_reply_approval(), tool_reply_call() and tool_end_session() return. */
#define TOOL_ACCEPTED 0
#define TOOL_UNKNOWN  1 /* no such call, token or session (any more), or answered before */
#define TOOL_INVALID  2 /* unreadable: a request stands denied, a call has failed */

/* Streams of on_output. */
#define TOOL_STREAM_STDOUT UINT32_C(1)
#define TOOL_STREAM_STDERR UINT32_C(2)
#define TOOL_STREAM_PROGRESS \
    UINT32_C(3) /* a line of the provider's own: image pull, first warm-up */

/* Levels of log. */
#define TOOL_LOG_ERROR   UINT32_C(1)
#define TOOL_LOG_WARNING UINT32_C(2)
#define TOOL_LOG_INFO    UINT32_C(3)
#define TOOL_LOG_DEBUG   UINT32_C(4)

/*
 * What a host grants for one call. Borrowed: the provider keeps no pointer to it. The host fills
 * struct_size with sizeof(struct tool_host) and abi_version with TOOL_ABI_VERSION; any callback may
 * be NULL, which denies what it would have granted (without check_capability or audit nothing ever
 * runs, which is told as the host's mistake). The input is a model's and untrusted; all of
 * this is the host's own and trusted.
 */
struct tool_host {
    uint32_t struct_size;
    uint32_t abi_version;
    void *user;       /* handed to every callback, never looked into */
    uint64_t call_id; /* the host's name for this call, for tool_cancel(); 0: cannot be cancelled */
    /* A JSON object or NULL: "principal", "session" (the conversation), "traceparent" (strings),
     * "workspace" (an absolute path), "policy" (an object that may only narrow), "files" (an array
     * of {"ref", "name", "size", "sha256"?}, what open_file can open), "tools" (an array of
     * {"name", "title"?, "description"?, "input_schema", "output_schema"?, "annotations"?,
     * "approval"?}, what call_tool can call). Never filled from the model's input. */
    const char *context_json;

    /* [callback] Is the named capability granted to this caller? Absent: none is. Beside a
     * capability of the manifest it may be asked for one of its parameters, "NAME=PARAMETER", when
     * it has not granted NAME: a host grants only names that it knows, and so none it does not. */
    void (*check_capability)(void *user, const char *capability, uint32_t *verdict);

    /* [callback] A person or rule decides on request_json (borrowed for the call), which names the
     * request's SHA-256 and, as expires_in_ms, how long an answer is waited for. Answers at once
     * through *verdict, or calls tool_reply_approval() with the token from inside (that answer then
     * counts, whatever *verdict says), or says TOOL_VERDICT_LATER or TOOL_VERDICT_PENDING. Absent:
     * denied. */
    void (*request_approval)(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict);

    /* [callback] Copies the named secret into buffer (lent, locked, wiped by the provider), writes
     * its length to *length and allows. Where it needs more than capacity: writes the needed
     * length, allows, and is called once more with a larger buffer (65,536 bytes at most). Says
     * TOOL_VERDICT_ABSENT for a name that it does not know: the operator's policy may then name
     * another source; a denial is the last word. A NULL callback knows no name. */
    void (*read_secret)(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict);

    /* [callback] Stores one audit record (a JSON object without line breaks, borrowed). Allow
     * means: it is stored. A start record that is not stored keeps the call from running. Absent:
     * nothing runs. */
    void (*audit)(void *user, const char *record_json, uint32_t *verdict);

    /* [callback] Output as it comes, bytes of the program and not necessarily UTF-8, secrets
     * redacted. Purely informative: the result has it too. May be NULL. */
    void (*on_output)(void *user, uint32_t stream, const void *bytes, size_t length);

    /* [callback] A line for the host's own log. May be NULL. */
    void (*log)(void *user, uint32_t level, const char *message);

    /* Since 1.1. */

    /* [callback] Looks at a program before anybody is asked to approve it. request_json (borrowed
     * for the call): everything that decides what runs, with the files' content ("content_base64"),
     * "principal" and "session" (docs/abi.md, "Content checks"). Writes {"findings": [{"line",
     * "column", "rule", "message", "file"?},
     * ...]} into answer (lent), its length to *length, and allows, which means: it has looked.
     * Whether a finding refuses the call is the policy's to say. Anything else, or a length beyond
     * capacity (65,536 bytes): it could not look. May be NULL. */
    void (*check_content)(void *user, const char *request_json, char *answer, size_t capacity,
                          size_t *length, uint32_t *verdict);

    /* Since 1.2. */

    /* [callback] Opens a file of the host's for the program: ref is one of those that context_json
     * "files" lists. Writes the file's size and a descriptor that it opened for this answer alone,
     * and allows: the provider then owns *descriptor (-1 before the call) and closes it. Without
     * TOOL_VERDICT_ALLOW the provider touches no descriptor. Refused, and closed unless they are 0
     * to 2: 0 to 2 themselves, what is no regular file, what cannot be read (O_WRONLY, O_PATH), and
     * a file of another size than *size. The same ref may be asked for more than once a call. May
     * be NULL: no file can be named. */
    void (*open_file)(void *user, const char *ref, int32_t *descriptor, uint64_t *size,
                      uint32_t *verdict);

    /* [callback] Keeps a file that the program has left. file_json (borrowed for the call): an
     * object with "path", "size", "mime_type" and "sha256". descriptor: the content, sealed,
     * read-only and lent until return. Writes a name for it, a URI of UTF-8 without a NUL, into uri
     * (lent), its length to *length, and allows. Anything else, or a length beyond capacity: it was
     * not kept. May be NULL. */
    void (*store_file)(void *user, const char *file_json, int32_t descriptor, char *uri,
                       size_t capacity, size_t *length, uint32_t *verdict);

    /* Since 1.3. */

    /* [callback] The program calls a tool of the host's, one of those that context_json "tools"
     * lists. call_json (borrowed for the call): an object with "run_id", "seq", "name",
     * "principal", "session", "deadline_ms", "call_sha256" and, as its last member, "arguments",
     * an object in the program's own bytes. The answer comes through tool_reply_call() with the
     * token: from inside this callback, or later from any thread, and then this says
     * TOOL_VERDICT_LATER. Anything else, TOOL_VERDICT_ALLOW without an answer included, has refused
     * the call. Say LATER for whatever takes more than 50 ms: output and cancellation of the run
     * wait for this callback. May be NULL: then the context may list no tools. */
    void (*call_tool)(void *user, uint64_t token, const char *call_json, uint32_t *verdict);

    /* [callback] The answer to this token, for which call_tool has said LATER, is not wanted any
     * more, and the token is unknown from now on. Called for each that is open when its time is
     * over, or when the run ends: before tool_invoke() returns. May be NULL. */
    void (*cancel_tool_call)(void *user, uint64_t token);
};

/* [any-thread] major << 16 | minor of the ABI the provider was built for. */
TOOL_EXPORT uint32_t tool_abi_version(void);

/* [any-thread] The manifest, a JSON object: "manifest_version", "provider", "version", "tools"
 * (each with name, aliases, description, input_schema, output_schema, capabilities {required,
 * optional}, approval, annotations, cost), "errors". Static, owned by the provider, valid until
 * dlclose(); never NULL. Pure and fast: it probes nothing, reads no file and starts no process. */
TOOL_EXPORT const char *tool_manifest(void);

/* [any-thread] Runs a tool and blocks until it ends. tool and input_json are borrowed and
 * untrusted; NULL or nonsense is TOOL_NOT_RUN with an error. host is borrowed; NULL grants nothing.
 * On TOOL_OK and TOOL_NOT_RUN *output_json is a new JSON object that fits the tool's output schema,
 * to be released with tool_free(); on TOOL_FAILED it is NULL. */
TOOL_EXPORT int32_t tool_invoke(const char *tool, const char *input_json,
                                const struct tool_host *host, char **output_json);

/* [any-thread] Releases what tool_invoke(), tool_prepare() or tool_status() returned. NULL is fine.
 */
TOOL_EXPORT void tool_free(void *pointer);

/* [any-thread] Ends every running call of that call_id; such a call returns status "cancelled" with
 * the output so far. Idempotent. TOOL_ACCEPTED, or TOOL_UNKNOWN when no such call is under way. */
TOOL_EXPORT int32_t tool_cancel(uint64_t call_id);

/* [any-thread, and from inside request_approval] Answers an approval request, once a token.
 * decision_json (borrowed): {"decision": D, "request_sha256"?, "approver"?, "reason"?,
 * "arguments"?, "approval_id"?}, where D is a word of the request's "allowed_decisions":
 * "allow_once"; "allow_session" (the provider allows the identical request of the same principal
 * and conversation, the context's "session", from now on); "allow_always" (the host allows it from
 * now on: it remembers the request_sha256, and answers by itself the next time); "allow_cells" (of
 * a request for a session: the provider also allows further requests for that session that want no
 * more than this one, until it ends, and nobody sees them before); "edit" (run "arguments", an
 * object like the request's "arguments", instead: they are checked as any input is); "deny";
 * "cancel" (the call ends as cancelled). Beside them "unavailable" is always taken, and never
 * offered: nobody could be asked, so the call ends as approval_unavailable; a provider that does
 * not know it denies. "approval_id" is the name that the host keeps the decision under, where it is
 * another than the request's; only for a request whose "decision_members" has it. {"pending_id":
 * ID} alone decides nothing: before TOOL_VERDICT_PENDING it names the request under which the host
 * keeps the question, where "decision_members" has it. TOOL_INVALID, and the request is denied, for
 * anything else, and for a request_sha256 that is not this request's. A second answer is
 * TOOL_UNKNOWN; where it differs from a permitting one that nothing has run by yet, nothing will.
 */
TOOL_EXPORT int32_t tool_reply_approval(uint64_t token, const char *decision_json);

/* [any-thread] Optional for hosts: configures the provider. config_json (borrowed, NULL for none)
 * is an object whose members are the provider's; four are common to all: "policy_file" (an
 * absolute path), "sandbox" (a mode), "keep_sessions" (since 1.3: so many sessions may live where
 * no policy file says how many), and "sweep" (true: what gateways that died have left on this
 * machine is removed at once, and the status says how much that was). A configuration that cannot
 * be read or is not allowed is refused (TOOL_NOT_RUN): the one before stays in force, and where
 * there was none, every call is refused until a good one comes. status_json may be NULL; else it
 * gets what tool_status() gives, with "error" when refused. Without tool_prepare() the first call
 * configures from the environment (CODE_EXEC_POLICY, CODE_EXEC_SANDBOX for code-execute).
 * Further members ask instead of configuring: "check" (true: what is odd about this policy?),
 * "explain" (an object: what would become of a request under it?) and, alone, "counters" (true: the
 * "counters" and "pools" of tool_status(), which cost next to nothing to ask for), "sessions"
 * (true: its "session_list", likewise) or "offer" (an object: which "input_schemas" are left where
 * the host grants these "capabilities"?). Nothing is run and what is in force stays; status_json
 * gets the answer, and TOOL_NOT_RUN means that the policy or the question was refused. A provider
 * that does not know them refuses the configuration.
 */
TOOL_EXPORT int32_t tool_prepare(const char *config_json, char **status_json);

/* [any-thread] What this machine can do and how the provider is doing: a new JSON object with
 * "ready" (the configured mode works here), "mode", "backends" (each with "name", "available",
 * "allowed", "layers" of {"name", "state", "detail", "remedy"?}, "error"), "runtimes", "policy",
 * "annotations"? (by a tool's name, what the configuration changes of the manifest's),
 * "input_schemas"? (by a tool's name, what the configuration leaves of the manifest's),
 * "counters", "pools"? (what each backend has ready for runs to come), "session_list"? (what is
 * kept between calls, each with "id", "principal", "language", "state", "cells", "idle_ms",
 * "memory_bytes"), "sweep"? (each mode with "removed", "left", "error"), "error" (of the
 * configuration, or null); release it with tool_free(). Probes by doing, so it may take a second.
 * TOOL_OK, or TOOL_FAILED. */
TOOL_EXPORT int32_t tool_status(char **status_json);

/* Since 1.3. */

/* [any-thread] Optional for providers: ends the session of that id, whosever it is, for the host's
 * operator. session_id: borrowed, of "session_list". A call that is under way in it is cancelled.
 * Its owner's next call for it hears of the end. TOOL_ACCEPTED: it ends, at once or with that call;
 * TOOL_UNKNOWN: there is none of that id. */
TOOL_EXPORT int32_t tool_end_session(const char *session_id);

/* [any-thread, and from inside call_tool] Optional for providers: answers a call of a tool, once a
 * token. reply_json (borrowed, length bytes of JSON, copied): {"content": [...],
 * "structured_content"?, "is_error"?}, the result of an MCP tool; "structuredContent" and "isError"
 * are the same. Where is_error is true the call raises in the program. Never blocks and never calls
 * back. TOOL_ACCEPTED; TOOL_UNKNOWN: no such token is open (any more); TOOL_INVALID: NULL, or
 * longer than the policy's limit, and the call has failed. An answer that cannot be read fails the
 * call too, once the run looks at it. */
TOOL_EXPORT int32_t tool_reply_call(uint64_t token, const char *reply_json, size_t length);

/* [any-thread] Ends all calls and everything the provider has started, and waits for its end. Also
 * run by dlclose(). The provider can be used again afterwards. Must not be called from a callback.
 */
TOOL_EXPORT void tool_shutdown(void);

/* The same, as pointers, for hosts that dlsym(). */
typedef uint32_t (*tool_abi_version_fn)(void);
typedef const char *(*tool_manifest_fn)(void);
typedef int32_t (*tool_invoke_fn)(const char *tool, const char *input_json,
                                  const struct tool_host *host, char **output_json);
typedef void (*tool_free_fn)(void *pointer);
typedef int32_t (*tool_cancel_fn)(uint64_t call_id);
typedef int32_t (*tool_reply_approval_fn)(uint64_t token, const char *decision_json);
typedef int32_t (*tool_prepare_fn)(const char *config_json, char **status_json);
typedef int32_t (*tool_status_fn)(char **status_json);
typedef int32_t (*tool_end_session_fn)(const char *session_id);
typedef int32_t (*tool_reply_call_fn)(uint64_t token, const char *reply_json, size_t length);
typedef void (*tool_shutdown_fn)(void);

/* The layout is part of the promise. C99 has no static assertion, so an array of negative size
 * stands in. */
#define TOOL_LAYOUT_ASSERT(name, condition) typedef char tool_layout_##name[(condition) ? 1 : -1]
TOOL_LAYOUT_ASSERT(struct_size, offsetof(struct tool_host, struct_size) == 0);
TOOL_LAYOUT_ASSERT(abi_version, offsetof(struct tool_host, abi_version) == 4);
TOOL_LAYOUT_ASSERT(user, offsetof(struct tool_host, user) == 8);
TOOL_LAYOUT_ASSERT(call_id, offsetof(struct tool_host, call_id) == 16 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(context_json,
                   offsetof(struct tool_host, context_json) == 24 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(check_capability,
                   offsetof(struct tool_host, check_capability) == 32 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(request_approval,
                   offsetof(struct tool_host, request_approval) == 40 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(read_secret,
                   offsetof(struct tool_host, read_secret) == 48 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(audit, offsetof(struct tool_host, audit) == 56 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(on_output, offsetof(struct tool_host, on_output) == 64 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(log, offsetof(struct tool_host, log) == 72 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(check_content, /* its place is the size of 1.0 */
                   offsetof(struct tool_host, check_content) == 80 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(open_file, /* its place is the size of 1.1 */
                   offsetof(struct tool_host, open_file) == 88 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(store_file, offsetof(struct tool_host, store_file) == 96 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(call_tool, /* its place is the size of 1.2 */
                   offsetof(struct tool_host, call_tool) == 104 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(cancel_tool_call,
                   offsetof(struct tool_host, cancel_tool_call) == 112 || sizeof(void *) < 8);
TOOL_LAYOUT_ASSERT(size_1_3, sizeof(struct tool_host) == 120 || sizeof(void *) < 8);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TOOL_PROVIDER_H */
