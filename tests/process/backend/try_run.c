/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one command line through the backend and prints what came of it; "-n COUNT" times it:
 *   CODE_EXECUTE_PROCESS=build/plugin/code-execute-process try_run [-n COUNT] [-N] sh -c 'echo hi'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static struct outcome outcome;

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void time_runs(const struct backend *backend, char **argv, int isolation, int count)
{
    double *times = calloc((size_t)count, sizeof(*times));
    if (!times)
        return;
    for (int i = 0; i < count; i++) {
        struct run_description description = describe(argv);
        description.isolation = (uint32_t)isolation;
        double start = now_seconds();
        run(backend, &description, &outcome);
        times[i] = now_seconds() - start;
    }
    qsort(times, (size_t)count, sizeof(*times), compare);
    (void)printf("p50 %.2f ms, p95 %.2f ms\n", times[count / 2] * 1e3,
                 times[count * 95 / 100] * 1e3);
    free(times);
}

int main(int argc, char **argv)
{
    int count = 1;
    int isolation = RUN_ISOLATION_SANDBOX;
    int option;
    while ((option = getopt(argc, argv, "+n:N")) != -1) {
        if (option == 'n')
            count = atoi(optarg); /* NOLINT(cert-err34-c): a developer's own number */
        else if (option == 'N')
            isolation = RUN_ISOLATION_NONE;
        else
            return 2;
    }
    struct backend backend = backend_start();
    time_runs(&backend, argv + optind, isolation, count > 0 ? count : 1);
    (void)printf("cause %s, exit %d, signal %d, failure %u, layer %u (%s), errno %d, %s\n",
                 run_cause_name((enum run_cause)outcome.end.cause), outcome.end.exit_code,
                 outcome.end.signal, outcome.end.failure, outcome.end.failed_layer,
                 isolation_layer_name((enum isolation_layer)outcome.end.failed_layer),
                 outcome.end.error_number, outcome.end.message);
    (void)printf("applied %#llx, missing %#llx, landlock %u, cgroup %u, seccomp %u, uid %u\n",
                 (unsigned long long)outcome.end.isolation.applied,
                 (unsigned long long)outcome.end.isolation.missing,
                 outcome.end.isolation.landlock_abi, outcome.end.isolation.cgroup_version,
                 outcome.end.isolation.seccomp_instructions, outcome.end.isolation.outer_uid);
    (void)printf("memory %llu, user %llu us, system %llu us, wall %llu us\n",
                 (unsigned long long)outcome.end.usage.peak_memory_bytes,
                 (unsigned long long)outcome.end.usage.user_us,
                 (unsigned long long)outcome.end.usage.system_us,
                 (unsigned long long)outcome.end.usage.wall_us);
    (void)printf("--- stdout\n%s--- stderr\n%s", outcome.output, outcome.errors);
    backend_stop(&backend);
    return 0;
}
