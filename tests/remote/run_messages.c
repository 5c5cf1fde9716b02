/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local protocol for tests in Python.
 * "run_messages describe FILE [MEMBER=VALUE ...]": a run's description, whose program is in FILE.
 * "run_messages event": an event from standard input, as lines NAME VALUE.
 * "run_messages encode [MEMBER=VALUE ...]": an event. Members that are not named are 0.
 * "run_messages version": PROTOCOL_VERSION.
 * Descriptions and events go to standard output.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_list.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define FILE_MOST 65536

static uint64_t number_of(const char *text)
{
    return strtoull(text, NULL, 10);
}

static bool set_text(char **text, const char *to)
{
    *text = strdup(to);
    return *text != NULL;
}

/* One MEMBER=VALUE. */
static bool set_member(struct run_description *description, const char *name, const char *value)
{
    if (strcmp(name, "memory_bytes") == 0)
        description->limits.memory_bytes = number_of(value);
    else if (strcmp(name, "wall_ms") == 0)
        description->limits.wall_ms = number_of(value);
    else if (strcmp(name, "purpose") == 0)
        description->purpose = (uint32_t)number_of(value);
    else if (strcmp(name, "isolation") == 0)
        description->isolation = (uint32_t)number_of(value);
    else if (strcmp(name, "network") == 0)
        description->network = (uint32_t)number_of(value);
    else if (strcmp(name, "results") == 0)
        description->results = (uint32_t)number_of(value);
    else if (strcmp(name, "outputs") == 0)
        description->outputs = (struct run_outputs){number_of(value), 1 << 24, 1 << 24, NULL};
    else if (strcmp(name, "workspace") == 0)
        return set_text(&description->workspace, value);
    else if (strcmp(name, "environment") == 0)
        return string_list_append(&description->environment, value);
    else if (strcmp(name, "read_only") == 0)
        return string_list_append(&description->read_only_paths, value);
    else
        return false;
    return true;
}

static bool read_program(const char *path, struct run_description *description)
{
    unsigned char *content = malloc(FILE_MOST);
    FILE *file = fopen(path, "re");
    description->files = calloc(1, sizeof(*description->files));
    if (!content || !file || !description->files)
        return false;
    description->file_count = 1;
    description->files[0].content = content;
    description->files[0].length = fread(content, 1, FILE_MOST, file);
    (void)fclose(file);
    return set_text(&description->files[0].path, "main.py");
}

static int describe(int count, char **arguments)
{
    static const char *const command[] = {"python3", "main.py", NULL};
    static const char *const path[] = {"/usr/local/bin", "/usr/bin", "/bin", NULL};
    static const char *const view[] = {
        "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", NULL};
    struct run_description description = {
        .isolation = RUN_ISOLATION_SANDBOX,
        .limits = {.wall_ms = 120000,
                   .memory_bytes = UINT64_C(64) << 20,
                   .processes = 32,
                   .open_files = 64,
                   .file_bytes = UINT64_C(16) << 20,
                   .scratch_bytes = UINT64_C(32) << 20,
                   .scratch_inodes = 256},
    };
    size_t length = 0;
    memset(description.run_id, 'c', RUN_ID_LENGTH);
    if (count < 1 || !read_program(arguments[0], &description) ||
        !string_list_append_all(&description.argv, command) ||
        !string_list_append_all(&description.runtime_path, path) ||
        !string_list_append_all(&description.read_only_paths, view))
        return 1;
    for (int i = 1; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        if (!value)
            return 1;
        *value++ = '\0';
        if (!set_member(&description, arguments[i], value))
            return 1;
    }
    unsigned char *message = run_description_encode(&description, &length);
    if (!message || fwrite(message, 1, length, stdout) != length)
        return 1;
    free(message);
    run_description_clear(&description);
    return 0;
}

static int print_event(void)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    size_t length = fread(message, 1, sizeof(message), stdin);
    if (!run_event_decode(message, length, &event))
        return 1;
    (void)printf("type %u\ncause %s\nexit_code %d\nfailure %u\nproblem_code %u\n", event.type,
                 run_cause_name((enum run_cause)event.cause), event.exit_code, event.failure,
                 event.problem_code);
    (void)printf("applied %" PRIu64 "\nmessage %s\nremedy %s\n", event.isolation.applied,
                 event.message, event.remedy);
    return 0;
}

/* One MEMBER=VALUE of an event. */
static bool set_event_member(struct run_event *event, const char *name, const char *value)
{
    if (strcmp(name, "type") == 0)
        event->type = (uint32_t)number_of(value);
    else if (strcmp(name, "applied") == 0)
        event->isolation.applied = number_of(value);
    else if (strcmp(name, "first_pid") == 0)
        event->first_pid = (int32_t)number_of(value);
    else if (strcmp(name, "cause") == 0)
        event->cause = (uint32_t)number_of(value);
    else if (strcmp(name, "exit_code") == 0)
        event->exit_code = (int32_t)strtol(value, NULL, 10);
    else if (strcmp(name, "failure") == 0)
        event->failure = (uint32_t)number_of(value);
    else if (strcmp(name, "problem_code") == 0)
        event->problem_code = (uint32_t)number_of(value);
    else if (strcmp(name, "retry_after_ms") == 0)
        event->retry_after_ms = number_of(value);
    else if (strcmp(name, "message") == 0)
        (void)snprintf(event->message, sizeof(event->message), "%s", value);
    else if (strcmp(name, "remedy") == 0)
        (void)snprintf(event->remedy, sizeof(event->remedy), "%s", value);
    else if (strcmp(name, "groups") == 0)
        (void)snprintf(event->groups, sizeof(event->groups), "%s", value);
    else if (strcmp(name, "details") == 0)
        event->details.length = (uint32_t)snprintf((char *)event->details.bytes,
                                                   sizeof(event->details.bytes), "%s", value);
    else
        return false;
    return true;
}

static int encode(int count, char **arguments)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event = {.type = 0};
    for (int i = 0; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        if (!value)
            return 1;
        *value++ = '\0';
        if (!set_event_member(&event, arguments[i], value))
            return 1;
    }
    size_t length = run_event_encode(&event, message);
    return length == 0 || fwrite(message, 1, length, stdout) != length;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "encode") == 0)
        return encode(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "describe") == 0)
        return describe(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "event") == 0)
        return print_event();
    return printf("%d\n", PROTOCOL_VERSION) < 0;
}
