/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends records to an audit log as fast as it goes, and tells of each that was confirmed:
 *   audit_writer LOG TOLD COUNT MAX_BYTES LONGEST SEED [KEY]
 * COUNT records (0: until it is killed) of up to LONGEST bytes; of each confirmed one the name is
 * appended to the file TOLD, which is what a started run is in the real thing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit_log.h"
#include "audit/audit_setting.h"
#include "base/cleanup.h"

/* Most are short. */
static char *make_record(const char *name, unsigned *seed, size_t longest)
{
    size_t filling = (size_t)rand_r(seed) % (rand_r(seed) % 8 == 0 ? longest : 100);
    char *text = malloc(filling + 256);
    if (!text)
        return NULL;
    int length = snprintf(text, 256, "{\"event\":\"start\",\"run_id\":\"%s\",\"filling\":\"", name);
    memset(text + length, 'x', filling);
    (void)snprintf(text + (size_t)length + filling, 8, "\"}");
    return text;
}

static int append_all(const struct audit_log *log, int told, unsigned long count, size_t longest,
                      unsigned seed)
{
    for (unsigned long i = 0; count == 0 || i < count; i++) {
        char name[64];
        struct failure failure;
        int length = snprintf(name, sizeof(name), "%d-%lu\n", (int)getpid(), i);
        name[length - 1] = '\0';
        CLEANUP_FREE char *record = make_record(name, &seed, longest);
        if (!record || !audit_log_append(log, record, &failure)) {
            (void)fprintf(stderr, "%s\n", record ? failure.message : "no memory");
            return EXIT_FAILURE;
        }
        name[length - 1] = '\n';
        if (write(told, name, (size_t)length) != length)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct failure failure;
    CLEANUP(audit_setting_free_key) struct hmac_key *key = NULL;
    if (argc < 7 || (argc > 7 && !audit_setting_read_key(argv[7], &key, &failure)))
        return EXIT_FAILURE;
    const struct audit_log log = {argv[1], key, strtoull(argv[4], NULL, 10)};
    CLEANUP_CLOSE int told = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    return append_all(&log, told, strtoul(argv[3], NULL, 10), strtoul(argv[5], NULL, 10),
                      (unsigned)strtoul(argv[6], NULL, 10));
}
