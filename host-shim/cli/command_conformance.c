/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost conformance FILE.so: checks a provider against the ABI, each case in a child of its own,
 * and prints TAP. The child is toolhost conformance-case NAME FILE.so: it runs one case, prints its
 * remark and reports the result by its exit status. Main thread.
 */
#include <fcntl.h>
#include <string.h>

#include "base/bounded_program.h"
#include "base/cleanup.h"
#include "base/console.h"
#include "base/text_escape.h"
#include "cli/commands.h"
#include "conformance/conformance_case.h"

#define CASE_LIMIT_MS 60000
#define REMARK_LIMIT  4096u

struct tally {
    unsigned passed, failed, skipped;
};

static bool is_chosen(const struct options *options, const char *name)
{
    return !options->only_case || strcmp(options->only_case, name) == 0;
}

static size_t count_cases(const struct options *options)
{
    size_t count = 0;
    for (size_t i = 0; conformance_row_at(i); i++)
        count += is_chosen(options, conformance_row_at(i)->name);
    return count;
}

static int case_limit_ms(const struct options *options)
{
    return options->timeout_ms ? (int)options->timeout_ms : CASE_LIMIT_MS;
}

static void run_case(const struct options *options, const char *name, struct program_result *ret)
{
    CLEANUP_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *arguments[] = {(char *)(uintptr_t) "toolhost", (char *)(uintptr_t) "conformance-case",
                         (char *)(uintptr_t)name, (char *)(uintptr_t)options->words[0], NULL};
    const struct bounded_program program = {
        .path = "/proc/self/exe",
        .arguments = arguments,
        .input = nothing,
        .error = options->verbose ? -1 : nothing,
        .output_limit = REMARK_LIMIT,
        .wait_ms = case_limit_ms(options),
        .cancelled_fd = -1,
    };
    bounded_program_run(&program, ret);
}

static void write_remark(FILE *out, const struct program_result *result)
{
    if (result->output && result->length > 0)
        text_escape_write(out, result->output, result->length);
}

static void write_how_it_ended(FILE *out, const struct program_result *result)
{
    switch (result->end) {
    case PROGRAM_EXITED:
        write_remark(out, result);
        break;
    case PROGRAM_SIGNALLED:
        (void)fprintf(out, "crashed: SIG%s", sigabbrev_np(result->number));
        break;
    case PROGRAM_OUT_OF_TIME:
        (void)fputs("did not end in time", out);
        break;
    case PROGRAM_NOT_STARTED:
    case PROGRAM_NOT_WATCHED:
    case PROGRAM_OUT_OF_BOUNDS:
    case PROGRAM_CANCELLED:
        (void)fputs("could not be checked", out);
        break;
    }
}

static void report_case(FILE *out, size_t number, const char *name,
                        const struct program_result *result, struct tally *tally)
{
    if (result->end == PROGRAM_EXITED && result->number == CASE_PASSED) {
        tally->passed++;
        (void)fprintf(out, "ok %zu - %s", number, name);
        if (result->length > 0)
            (void)fputs(" # note: ", out);
        write_remark(out, result);
    } else if (result->end == PROGRAM_EXITED && result->number == CASE_SKIPPED) {
        tally->skipped++;
        (void)fprintf(out, "ok %zu - %s # SKIP ", number, name);
        write_remark(out, result);
    } else {
        tally->failed++;
        (void)fprintf(out, "not ok %zu - %s\n# ", number, name);
        write_how_it_ended(out, result);
    }
    (void)fputc('\n', out);
    (void)fflush(out);
}

int command_conformance(const struct options *options, int out)
{
    struct failure failure;
    CLEANUP_FREE char *path = NULL;
    if (!provider_locate(options->words[0], &path, &failure)) {
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    CLEANUP_FILE FILE *stream = fdopen(fcntl(out, F_DUPFD_CLOEXEC, 3), "w");
    if (!stream)
        return EXIT_USAGE;
    size_t chosen = count_cases(options);
    if (chosen == 0) {
        (void)failure_usage(&failure, "no case %s", options->only_case);
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    struct tally tally = {0};
    size_t number = 0;
    (void)fprintf(stream, "1..%zu\n", chosen);
    for (size_t i = 0; conformance_row_at(i); i++) {
        const char *name = conformance_row_at(i)->name;
        if (!is_chosen(options, name))
            continue;
        CLEANUP(program_result_clear) struct program_result result;
        run_case(options, name, &result);
        report_case(stream, ++number, name, &result, &tally);
    }
    (void)fprintf(stream, "# %u passed, %u failed, %u skipped\n", tally.passed, tally.failed,
                  tally.skipped);
    return tally.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_conformance_case(const struct options *options, int out)
{
    const struct conformance_row *row = conformance_row_find(options->words[0]);
    struct failure failure;
    if (!row) {
        (void)failure_set(&failure, "usage", "unknown case %s", options->words[0]);
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    CLEANUP_FREE char *path = NULL;
    if (!provider_locate(options->words[1], &path, &failure)) {
        console_print_failure(&failure);
        return CASE_FAILED;
    }
    struct conformance conformance = {.path = path};
    enum case_result result = conformance_row_run(&conformance, row);
    (void)dprintf(out, "%s", conformance.remark);
    return (int)result;
}
