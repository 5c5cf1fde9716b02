/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-worker: runs programs for gateways on other machines. It is started by the
 * machine's operator (systemd, an orchestrator), listens for gateways, and hands their runs to the
 * backend program beside it. One thread.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "backends/worker/configuration.h"
#include "backends/worker/journal.h"
#include "backends/worker/worker.h"
#include "base/cleanup.h"
#include "program/backend_program.h"

#define USED_WRONGLY 2
#define DESCRIPTORS  65536

static const char usage[] = "usage: code-execute-worker [--check] --config FILE [--name NAME]\n"
                            "\n"
                            "Runs programs for the gateways that FILE names.\n"
                            "  --config FILE  the configuration, JSON (docs/scale.md)\n"
                            "  --name NAME    instead of the file's name: where many share one\n"
                            "  --check        try out all that it needs, print what is missing\n"
                            "  --version      print the version\n";

/* A run has some twenty, at the worker and at its backend. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Runs hold secrets on their way through. */
static bool settle(struct error *error)
{
    (void)umask(077);
    raise_descriptor_limit();
    journal_open();
    backend_program_look_beside("/proc/self/exe");
    if (prctl(PR_SET_DUMPABLE, 0) == 0)
        return true;
    error_set_errno(error, ERROR_INTERNAL, errno, "cannot protect the process");
    return false;
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    const char *name = NULL;
    bool checks = false;
    struct error error;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--version") == 0)
            return puts("code-execute-worker " CODE_EXECUTE_VERSION) < 0;
        if (strcmp(argv[i], "--help") == 0)
            return fputs(usage, stdout) < 0;
        if (strcmp(argv[i], "--check") == 0) {
            checks = true;
        } else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else if (strcmp(argv[i], "--name") == 0 && i + 1 < argc) {
            name = argv[++i];
        } else {
            path = NULL;
            break;
        }
    }
    if (!path) {
        (void)fputs(usage, stderr);
        return USED_WRONGLY;
    }
    CLEANUP(worker_configuration_clear) struct worker_configuration configuration = {.name = NULL};
    if (!settle(&error) || !worker_configuration_read(path, &configuration, &error) ||
        (name && !worker_configuration_rename(&configuration, name, &error))) {
        (void)fprintf(stderr, "code-execute-worker: %s\n  %s\n", error.message, error.hint);
        return 1;
    }
    return !(checks ? worker_check(&configuration) : worker_serve(&configuration));
}
