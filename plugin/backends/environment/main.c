/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-environment installs the packages of an environment from an archive that a sandbox
 * has made, and verifies an installed one. The gateway starts it for one command; it reads a
 * stranger's bytes, so it is a process of its own, and confined. One thread.
 * Without arguments it takes an order from the gateway and answers there
 * (protocol/orders/package_order.h); with them:
 *     code-execute-environment install BYTES INODES    archive: descriptor 0, empty directory: 3
 *     code-execute-environment verify BYTES INODES     installed directory: descriptor 3
 * Exit status: 0 done, 1 refused or changed, 2 called wrongly or not confined. Standard output: one
 * line of JSON (answer.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/control.h"
#include "backends/environment/commands.h"
#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/orders/package_order.h"
#include "protocol/run_event.h"

enum { EXIT_NOT_BEGUN = 2 };

static bool read_number(const char *text, uint64_t *ret)
{
    char *end = NULL;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret = number;
    return true;
}

static bool read_command(int argc, char **argv, struct package_order *ret)
{
    if (argc != 4 || !read_number(argv[2], &ret->bytes) || !read_number(argv[3], &ret->inodes))
        return false;
    ret->action = strcmp(argv[1], "install") == 0 ? PACKAGE_INSTALL : PACKAGE_VERIFY;
    return ret->action == PACKAGE_INSTALL || strcmp(argv[1], "verify") == 0;
}

/* Puts everything where a command line would have it: the answer goes to the gateway. */
static bool take_places(int control, const int fds[PACKAGE_FD_COUNT])
{
    return dup2(control, STDOUT_FILENO) >= 0 && dup2(fds[PACKAGE_FD_ARCHIVE], ARCHIVE_FD) >= 0 &&
           dup2(fds[PACKAGE_FD_DIRECTORY], DIRECTORY_FD) >= 0;
}

static bool receive_order(struct package_order *ret)
{
    const struct backend_hello hello = {.protocol_version = PROTOCOL_VERSION, .pid = getpid()};
    int fds[PACKAGE_FD_COUNT];
    size_t fd_count = 0;
    if (channel_send(BACKEND_CONTROL_FD, &hello, sizeof(hello), NULL, 0) < 0)
        return false;
    ssize_t length =
        channel_receive(BACKEND_CONTROL_FD, ret, sizeof(*ret), fds, PACKAGE_FD_COUNT, &fd_count);
    return length == sizeof(*ret) && fd_count == PACKAGE_FD_COUNT &&
           ret->action < PACKAGE_ACTION_COUNT && take_places(BACKEND_CONTROL_FD, fds);
}

static int perform(const struct package_order *order)
{
    static struct outcome outcome;
    const struct tree_limits limits = {.bytes = order->bytes, .inodes = order->inodes};
    bool installs = order->action == PACKAGE_INSTALL;
    const char *kept = confinement_enter(installs, &limits);
    if (kept) {
        (void)error_set_errno(&outcome.error, ERROR_INTERNAL, errno, "%s cannot be given up", kept);
        (void)(installs ? answer_install(&outcome) : answer_verify(&outcome));
        return EXIT_NOT_BEGUN;
    }
    if (installs) {
        command_install(ARCHIVE_FD, DIRECTORY_FD, &limits, &outcome);
        return answer_install(&outcome);
    }
    command_verify(DIRECTORY_FD, &limits, &outcome);
    return answer_verify(&outcome);
}

int main(int argc, char **argv)
{
    struct package_order order = {0};
    if (argc > 1)
        return read_command(argc, argv, &order) ? perform(&order) : EXIT_NOT_BEGUN;
    CLEANUP_CLOSE int host = backend_enter();
    return host >= 0 && receive_order(&order) ? perform(&order) : EXIT_NOT_BEGUN;
}
