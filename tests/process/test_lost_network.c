/* SPDX-License-Identifier: Apache-2.0 */
/* A supervisor that could serve its next run from another network refuses it, until it is back in
 * its own (lost_network.c is in it). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/supervisor/launch/sandbox_stock.h"
#include "suite.h"

#define PATIENCE_S 10
#define PAUSE_US   10000

/* That the process holds open. */
static int count_networks(pid_t pid)
{
    char path[64];
    char target[64] = "";
    int count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1) > 0 &&
                 strncmp(target, "net:", 4) == 0;
    if (directory)
        (void)closedir(directory);
    return count;
}

static bool eventually_has_networks(pid_t pid, int count)
{
    double latest = now_seconds() + PATIENCE_S * slowness();
    while (count_networks(pid) != count && now_seconds() < latest)
        (void)usleep(PAUSE_US);
    return count_networks(pid) == count;
}

static ino_t network_of(pid_t pid)
{
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_ino;
}

START_TEST(nothing_is_started_from_another_network)
{
    struct run_description description = describe(WORDS("echo", "hi"));
    ino_t own = network_of(backend.pid);
    expect_output(&description, "hi\n");
    ck_assert(eventually_has_networks(backend.pid, 1 + STOCK_LIMIT));
    expect_output(&description, "hi\n");
    ck_assert_uint_ne(network_of(backend.pid), own); /* where the run was */
    ck_assert(eventually_has_networks(backend.pid, 1));
    run(&backend, &description, &outcome);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_LAYER);
    ck_assert_uint_eq(outcome.end.failed_layer, LAYER_NETWORK_NAMESPACE);
    ck_assert_int_eq(outcome.end.error_number, EPERM);
    ck_assert_str_eq(outcome.output, "");
    expect_output(&description, "hi\n");
    ck_assert(eventually_has_networks(backend.pid, 1 + STOCK_LIMIT));
    ck_assert_uint_eq(network_of(backend.pid), own);
}
END_TEST

int main(void)
{
    suite_begin("lost network");
    suite_add(nothing_is_started_from_another_network, lacks_root());
    return suite_end();
}
