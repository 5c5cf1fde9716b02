/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: without each of the host's grants, nothing runs. Main thread of a case's process.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "conformance/conformance_case.h"
#include "conformance/probe_host.h"

#define LARGER_BY 64u

static const uint32_t junk_verdicts[] = {
    1,
    2,
    UINT32_MAX,
    UINT32_C(0x80000000),
    TOOL_VERDICT_ALLOW + 1,
    TOOL_VERDICT_ALLOW - 1,
    TOOL_VERDICT_ALLOW ^ UINT32_C(0x80000000),
    UINT32_C(0x11CA0D60), /* the permitting one with its bytes reversed */
    ~TOOL_VERDICT_ALLOW,
};

static void remove_callback(struct tool_host *host, enum grant grant)
{
    if (grant == GRANT_CAPABILITY)
        host->check_capability = NULL;
    else if (grant == GRANT_APPROVAL)
        host->request_approval = NULL;
    else
        host->audit = NULL;
}

static enum case_result expect_denial(struct conformance *conformance, struct probe_host *probe,
                                      const char *when)
{
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    return probe_host_expect_nothing_ran(conformance, probe, &outcome, when);
}

static enum case_result case_missing(struct conformance *conformance, unsigned grant)
{
    struct probe_host *probe = conformance->probe;
    remove_callback(&probe->host, grant);
    return expect_denial(conformance, probe, "without the callback");
}

static enum case_result case_silent(struct conformance *conformance, unsigned grant)
{
    struct probe_host *probe = conformance->probe;
    probe->silent[grant] = true;
    return expect_denial(conformance, probe, "the callback wrote no verdict");
}

static enum case_result try_verdict(struct conformance *conformance, unsigned grant,
                                    uint32_t verdict)
{
    CLEANUP_FREE struct probe_host *probe = probe_host_new(conformance);
    if (!probe)
        return case_fail(conformance, "out of memory");
    probe->verdict[grant] = verdict;
    char when[64];
    (void)snprintf(when, sizeof(when), "verdict 0x%08X", (unsigned)verdict);
    return expect_denial(conformance, probe, when);
}

static enum case_result case_junk(struct conformance *conformance, unsigned grant)
{
    enum case_result result = try_verdict(conformance, grant, TOOL_VERDICT_DENY);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(junk_verdicts); i++)
        result = try_verdict(conformance, grant, junk_verdicts[i]);
    /* Elsewhere than at an approval, an answer that comes later is no answer. */
    if (result == CASE_PASSED && grant != GRANT_APPROVAL)
        result = try_verdict(conformance, grant, TOOL_VERDICT_LATER);
    return result == CASE_PASSED ? try_verdict(conformance, grant, TOOL_VERDICT_PENDING) : result;
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
    CLEANUP_FREE struct probe_host *probe = probe_host_new(conformance);
    if (!probe)
        return case_fail(conformance, "out of memory");
    CLEANUP(guarded_page_unmap) struct guarded_page guarded = {0};
    const struct tool_host *host = at_the_edge(&guarded, &probe->host, size);
    if (!host)
        return case_fail(conformance, "out of memory");
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, host, &outcome);
    char when[64];
    (void)snprintf(when, sizeof(when), "struct_size %u", (unsigned)size);
    /* With everything up to audit there, nothing needed is missing. */
    if (size >= offsetof(struct tool_host, on_output))
        return CASE_PASSED;
    return probe_host_expect_nothing_ran(conformance, probe, &outcome, when);
}

static enum case_result case_struct_truncated(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    for (uint32_t size = 0; size < sizeof(struct tool_host); size += 4) {
        enum case_result result = try_size(conformance, size);
        if (result != CASE_PASSED)
            return result;
    }
    return CASE_PASSED;
}

/* As a host of a later 1.x would lend it. */
struct larger_host {
    struct tool_host host;
    unsigned char unknown[LARGER_BY];
};

static enum case_result case_struct_larger(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    struct larger_host larger = {.host = probe->host};
    larger.host.struct_size = sizeof(larger);
    memset(larger.unknown, 0xA5, sizeof(larger.unknown));
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &larger.host, &outcome);
    return probe_host_expect_ran(conformance, &outcome, "a host newer than the provider");
}

static enum case_result case_informative_missing(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    probe->host.on_output = NULL;
    probe->host.log = NULL;
    probe->host.read_secret = NULL;
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    return probe_host_expect_ran(conformance, &outcome, "without on_output, log and read_secret");
}

static enum case_result case_callback_thread(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    (void)usleep(100000); /* for one that comes after the call has returned */
    if (atomic_load(&probe->wrong_moment))
        return case_fail(conformance, "a callback came on another thread or after the call");
    return CASE_PASSED;
}

const struct conformance_row conformance_callback_rows[] = {
    {"capability-missing", case_missing, GRANT_CAPABILITY, CASE_NEEDS_GRANT(GRANT_CAPABILITY)},
    {"capability-silent", case_silent, GRANT_CAPABILITY, CASE_NEEDS_GRANT(GRANT_CAPABILITY)},
    {"capability-junk", case_junk, GRANT_CAPABILITY, CASE_NEEDS_GRANT(GRANT_CAPABILITY)},
    {"approval-missing", case_missing, GRANT_APPROVAL, CASE_NEEDS_GRANT(GRANT_APPROVAL)},
    {"approval-silent", case_silent, GRANT_APPROVAL, CASE_NEEDS_GRANT(GRANT_APPROVAL)},
    {"approval-junk", case_junk, GRANT_APPROVAL, CASE_NEEDS_GRANT(GRANT_APPROVAL)},
    {"audit-missing", case_missing, GRANT_AUDIT, CASE_NEEDS_GRANT(GRANT_AUDIT)},
    {"audit-silent", case_silent, GRANT_AUDIT, CASE_NEEDS_GRANT(GRANT_AUDIT)},
    {"audit-junk", case_junk, GRANT_AUDIT, CASE_NEEDS_GRANT(GRANT_AUDIT)},
    {"informative-missing", case_informative_missing, 0, CASE_NEEDS_A_RUN},
    {"struct-truncated", case_struct_truncated, 0, 0},
    {"struct-larger", case_struct_larger, 0, CASE_NEEDS_A_RUN},
    {"callback-thread", case_callback_thread, 0, 0},
};
const size_t conformance_callback_row_count = COUNT_OF(conformance_callback_rows);
