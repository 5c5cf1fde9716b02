/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: without each of the host's grants, nothing runs. Main thread of a case's process.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "conformance/conformance_case.h"
#include "conformance/conformance_input.h"
#include "conformance/probe_host.h"

#define LARGER_BY 64u

static const uint32_t junk_verdicts[] = {
    TOOL_VERDICT_DENY,
    1,
    2,
    UINT32_MAX,
    UINT32_C(0x80000000),
    TOOL_VERDICT_ALLOW + 1,
    TOOL_VERDICT_ALLOW - 1,
    TOOL_VERDICT_ALLOW ^ UINT32_C(0x80000000),
    UINT32_C(0x11CA0D60), /* the permitting one with its bytes reversed */
    ~TOOL_VERDICT_ALLOW,
    TOOL_VERDICT_LATER,
    TOOL_VERDICT_PENDING,
};

static enum case_result case_missing(struct conformance *conformance)
{
    struct tool_host *host = &conformance->probe->host;
    if (conformance->argument == GRANT_CAPABILITY)
        host->check_capability = NULL;
    else if (conformance->argument == GRANT_APPROVAL)
        host->request_approval = NULL;
    else
        host->audit = NULL;
    return probe_host_good_is_denied(conformance->probe, "without the callback");
}

static enum case_result case_silent(struct conformance *conformance)
{
    conformance->probe->silent[conformance->argument] = true;
    return probe_host_good_is_denied(conformance->probe, "the callback wrote no verdict");
}

static enum case_result try_verdict(struct conformance *conformance, uint32_t verdict)
{
    char when[64];
    probe_host_reset(conformance->probe);
    conformance->probe->verdict[conformance->argument] = verdict;
    (void)snprintf(when, sizeof(when), "verdict 0x%08X", (unsigned)verdict);
    return probe_host_good_is_denied(conformance->probe, when);
}

static enum case_result case_junk(struct conformance *conformance)
{
    enum case_result result = CASE_PASSED;
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(junk_verdicts); i++) {
        /* To a request for approval alone, an answer may come later. */
        if (junk_verdicts[i] != TOOL_VERDICT_LATER || conformance->argument != GRANT_APPROVAL)
            result = try_verdict(conformance, junk_verdicts[i]);
    }
    return result;
}

static void invoke_good_with(struct probe_host *probe, const struct tool_host *host)
{
    CLEANUP_FREE char *input = conformance_input_good(probe->conformance->tool);
    probe_host_invoke(probe, host, probe->conformance->tool_name, input);
}

struct guarded_page {
    char *bytes;
    size_t page;
};

static void guarded_page_unmap(struct guarded_page *guarded)
{
    if (guarded->bytes)
        (void)munmap(guarded->bytes, 2 * guarded->page);
}

/* The struct ends where the readable memory ends: one byte too far is a crash. */
static const struct tool_host *at_the_edge(struct guarded_page *guarded,
                                           const struct tool_host *host, uint32_t size)
{
    guarded->page = (size_t)sysconf(_SC_PAGESIZE);
    void *bytes =
        mmap(NULL, 2 * guarded->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    guarded->bytes = bytes;
    if (mprotect(guarded->bytes + guarded->page, guarded->page, PROT_NONE) < 0)
        return NULL;
    /* Aligned as a host would have it; struct_size itself can always be read. */
    size_t room = (size + 7u) & ~7u;
    char *begin = guarded->bytes + guarded->page - (room ? room : 8);
    struct tool_host copy = *host;
    copy.struct_size = size;
    memcpy(begin, &copy, size > sizeof(size) ? size : sizeof(size));
    return (const struct tool_host *)(const void *)begin;
}

static enum case_result try_size(struct conformance *conformance, uint32_t size)
{
    struct probe_host *probe = conformance->probe;
    CLEANUP(guarded_page_unmap) struct guarded_page guarded = {0};
    probe_host_reset(probe);
    const struct tool_host *host = at_the_edge(&guarded, &probe->host, size);
    if (!host)
        return case_fail(conformance, "out of memory");
    invoke_good_with(probe, host);
    char when[64];
    (void)snprintf(when, sizeof(when), "struct_size %u", (unsigned)size);
    /* With everything up to audit there, nothing needed is missing. */
    if (size >= offsetof(struct tool_host, on_output))
        return CASE_PASSED;
    return probe_host_expect_nothing_ran(probe, when);
}

static enum case_result case_struct_truncated(struct conformance *conformance)
{
    enum case_result result = CASE_PASSED;
    for (uint32_t size = 0; result == CASE_PASSED && size < sizeof(struct tool_host); size += 4)
        result = try_size(conformance, size);
    return result;
}

/* As a host of a later 1.x would lend it. */
struct larger_host {
    struct tool_host host;
    unsigned char unknown[LARGER_BY];
};

static enum case_result case_struct_larger(struct conformance *conformance)
{
    struct larger_host larger = {.host = conformance->probe->host};
    larger.host.struct_size = sizeof(larger);
    memset(larger.unknown, 0xA5, sizeof(larger.unknown));
    invoke_good_with(conformance->probe, &larger.host);
    return probe_host_expect_ran(conformance->probe, "a host newer than the provider");
}

static enum case_result case_informative_missing(struct conformance *conformance)
{
    struct tool_host *host = &conformance->probe->host;
    host->on_output = NULL;
    host->log = NULL;
    host->read_secret = NULL;
    return probe_host_good_runs(conformance->probe, "without on_output, log and read_secret");
}

static enum case_result case_callback_thread(struct conformance *conformance)
{
    probe_host_invoke_good(conformance->probe);
    (void)usleep(100000); /* for one that comes after the call has returned */
    if (atomic_load(&conformance->probe->wrong_moment))
        return case_fail(conformance, "a callback came on another thread or after the call");
    return CASE_PASSED;
}

/* context_json lists no file, so there is none to ask for. */
static enum case_result case_files_unlisted(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    probe_host_invoke_good(probe);
    if (probe->opened.asked > 0)
        return case_fail(conformance, "open_file was called for a file that the host did not list");
    return CASE_PASSED;
}

#define MATTERS(grant) CASE_NEEDS_GRANT(grant), grant

const struct conformance_row conformance_callback_rows[] = {
    {"capability-missing", case_missing, MATTERS(GRANT_CAPABILITY)},
    {"capability-silent", case_silent, MATTERS(GRANT_CAPABILITY)},
    {"capability-junk", case_junk, MATTERS(GRANT_CAPABILITY)},
    {"approval-missing", case_missing, MATTERS(GRANT_APPROVAL)},
    {"approval-silent", case_silent, MATTERS(GRANT_APPROVAL)},
    {"approval-junk", case_junk, MATTERS(GRANT_APPROVAL)},
    {"audit-missing", case_missing, MATTERS(GRANT_AUDIT)},
    {"audit-silent", case_silent, MATTERS(GRANT_AUDIT)},
    {"audit-junk", case_junk, MATTERS(GRANT_AUDIT)},
    {"informative-missing", case_informative_missing, CASE_NEEDS_A_RUN, 0},
    {"struct-truncated", case_struct_truncated, 0, 0},
    {"struct-larger", case_struct_larger, CASE_NEEDS_A_RUN, 0},
    {"callback-thread", case_callback_thread, 0, 0},
    {"files-unlisted", case_files_unlisted, 0, 0},
    {0},
};
