/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of the guests' files: see guest_file.h. Runs in the docker backend. */
#include "backends/docker/image/guest_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "base/ascii.h"
#include "base/cleanup.h"

#define GUEST_FILE "code-execute-guest"

/* As engines call this machine's architecture; "" where no engine runs. */
#if defined(__x86_64__)
#define OWN_ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE "arm64"
#elif defined(__i386__)
#define OWN_ARCHITECTURE "386"
#elif defined(__arm__)
#define OWN_ARCHITECTURE "arm"
#elif defined(__riscv)
#define OWN_ARCHITECTURE "riscv64"
#elif defined(__s390x__)
#define OWN_ARCHITECTURE "s390x"
#elif defined(__powerpc64__)
#define OWN_ARCHITECTURE "ppc64le"
#else
#define OWN_ARCHITECTURE ""
#endif

const char guest_file_own_architecture[] = OWN_ARCHITECTURE;

/* It comes from the image, and becomes part of a path. */
static bool is_architecture(const char *name)
{
    return name && ascii_consists_of(name, GUEST_ARCHITECTURE_LIMIT, ASCII_LOWER ASCII_DIGITS "_");
}

static void name_of(const char *architecture, char *name, size_t size)
{
    bool own = strcmp(architecture, OWN_ARCHITECTURE) == 0;
    (void)snprintf(name, size, GUEST_FILE "%s%s", own ? "" : "-", own ? "" : architecture);
}

/* Beside this program; -1 where it is not there. */
static int open_beside(const char *name)
{
    char directory[PATH_MAX];
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
    if (length <= 0)
        return -1;
    directory[length] = '\0';
    char *slash = strrchr(directory, '/');
    if (!slash)
        return -1;
    slash[1] = '\0';
    (void)snprintf(path, sizeof(path), "%s%s", directory, name);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void layer_digest(const unsigned char *archive, size_t length, char *ret)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    (void)SHA256Data(archive, length, digest);
    (void)snprintf(ret, LAYER_DIGEST_LIMIT + 1, "sha256:%s", digest);
}

static bool describe(const unsigned char *bytes, size_t length, struct guest_file *ret)
{
    static const char *const owners[] = {"root", ""};
    (void)SHA256Data(bytes, length, ret->identity.digest);
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        unsigned char *archive = guest_archive_make(bytes, length, owners[i], &ret->length);
        if (!archive)
            return false;
        layer_digest(archive, ret->length, ret->identity.layers[i]);
        free(ret->archive);
        ret->archive = archive;
    }
    return true;
}

bool guest_file_read(const char *architecture, struct guest_file *ret, struct engine_fault *fault)
{
    char name[64];
    size_t length = 0;
    CLEANUP(guest_file_clear) struct guest_file guest = {.archive = NULL};
    if (!is_architecture(architecture))
        return engine_fault_set(fault, ENGINE_PROBLEM_NO_GUEST,
                                "docker does not report the architecture of the image");
    name_of(architecture, name, sizeof(name));
    CLEANUP_CLOSE int fd = open_beside(name);
    CLEANUP_FREE unsigned char *bytes = fd >= 0 ? run_read_file(fd, GUEST_LIMIT, &length) : NULL;
    if (!bytes || !describe(bytes, length, &guest))
        return engine_fault_set(fault, ENGINE_PROBLEM_NO_GUEST,
                                "%s, which images of the architecture %s need, is not beside "
                                "code-execute-docker",
                                name, architecture);
    (void)snprintf(guest.architecture, sizeof(guest.architecture), "%s", architecture);
    *ret = guest;
    guest.archive = NULL;
    return true;
}

void guest_file_clear(struct guest_file *guest)
{
    free(guest->archive);
    *guest = (struct guest_file){.archive = NULL};
}
