/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the watch of a gateway's pods: a list, and the changes since. One watch for all of them. See
 * pods.h. Runs in the kubernetes backend. */
#include <stdio.h>
#include <string.h>

#include "backends/kubernetes/pod/pods_private.h"
#include "base/cleanup.h"

/* The server ends each watch after this time; soon after it a dead connection is noticed. */
#define WATCH_TIME_S    60
#define WATCH_LIMIT_MS  75000
#define PAUSE_MS        100 /* before the next try, doubled with each failure */
#define PAUSE_LIMIT_MS  5000
#define STATUS_OK       200
#define STATUS_OUTDATED 410

static api_done take_list, take_end;
static api_line take_line;

static uint64_t pause_of(const struct pods_watch *watch)
{
    uint64_t pause = PAUSE_MS;
    if (watch->failures == 0)
        return 0;
    for (unsigned int i = 1; i < watch->failures && pause < PAUSE_LIMIT_MS; i++)
        pause *= 2;
    return pause < PAUSE_LIMIT_MS ? pause : PAUSE_LIMIT_MS;
}

/* The list, or the watch from the version that is known. */
static void ask(struct pods *pods)
{
    struct pods_watch *watch = &pods->watch;
    char path[API_PATH_LIMIT];
    bool lists = watch->version[0] == '\0';
    int length = snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?labelSelector=%s%%3D%s",
                          pods->name_space, POD_LABEL_OWNER, pods->owner);
    if (!lists)
        (void)snprintf(path + length, sizeof(path) - (size_t)length,
                       "&watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s",
                       WATCH_TIME_S, watch->version);
    const struct api_request request = {
        .server = pods->server,
        .method = "GET",
        .path = path,
        .timeout_ms = lists ? API_TIME_MS : WATCH_LIMIT_MS,
        .delay_ms = pause_of(watch),
        .line = lists ? NULL : take_line,
        .done = lists ? take_list : take_end,
        .user = pods,
    };
    watch->is_broken = false;
    watch->round += lists;
    watch->call = api_call_start(pods->client, &request);
}

void pods_watch_begin(struct pods *pods)
{
    if (!pods->watch.call)
        ask(pods);
}

void pods_watch_end(struct pods *pods)
{
    api_call_cancel(TAKE_POINTER(pods->watch.call));
    pods->watch = (struct pods_watch){.round = pods->watch.round};
}

/* A problem on our side fails the pods that wait; a problem of the server is expected to pass. */
static void note_failure(struct pods *pods, const struct api_answer *answer)
{
    struct api_fault fault;
    pods->watch.failures++;
    if (answer->fault.problem == API_PROBLEM_CREDENTIALS ||
        answer->fault.problem == API_PROBLEM_CERTIFICATES) {
        pods_fail_waiting(pods, &answer->fault);
    } else if (answer->fault.problem == API_PROBLEM_NONE && answer->status >= 400 &&
               answer->status < 429 && answer->status != STATUS_OUTDATED) {
        api_refusal_explain(answer->status, answer->body, answer->length, "list and watch pods",
                            &fault);
        pods_fail_waiting(pods, &fault);
    }
}

/* A callback may free pods, so each step begins at the head of the list. */
static struct pod *find_unlisted(const struct pods *pods)
{
    struct pod *pod = pods->list;
    while (pod && (pod->is_listed || pod->round >= pods->watch.round || pod->is_gone ||
                   pod->is_unbound || pod->state.uid[0] == '\0'))
        pod = pod->next;
    return pod;
}

static void take_items(struct pods *pods, const json_t *items)
{
    size_t i;
    const json_t *item;
    for (struct pod *pod = pods->list; pod; pod = pod->next)
        pod->is_listed = false;
    json_array_foreach(items, i, item)
    {
        struct pod_state state;
        if (pod_state_read(item, &state))
            pods_take(pods, item, &state, false);
    }
    for (struct pod *pod; (pod = find_unlisted(pods));) {
        pod->is_listed = true;
        pod_take_loss(pod);
    }
}

static void take_list(void *user, const struct api_answer *answer)
{
    struct pods *pods = user;
    struct api_fault fault;
    pods->watch.call = NULL;
    json_auto_t *list = api_answer_take(answer, "list pods", &fault);
    const json_t *metadata = json_object_get(list, "metadata");
    const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
    const json_t *items = json_object_get(list, "items");
    bool is_list = version && version[0] != '\0' &&
                   strspn(version, "0123456789") == strlen(version) &&
                   strlen(version) < sizeof(pods->watch.version);
    if (is_list && (json_is_array(items) || json_is_null(items))) {
        (void)snprintf(pods->watch.version, sizeof(pods->watch.version), "%s", version);
        pods->watch.failures = 0;
        ask(pods); /* the watch is set up before any callback */
        take_items(pods, items);
    } else {
        note_failure(pods, answer);
        ask(pods);
    }
}

/* After an invalid line, and after the event that the watch is outdated, the rest of the watch is
 * ignored. */
static void take_line(void *user, const char *bytes, size_t length)
{
    struct pods *pods = user;
    struct pods_watch *watch = &pods->watch;
    enum pod_change change = POD_CHANGE_NONE;
    struct pod_state state;
    json_auto_t *object = NULL;
    if (watch->is_broken)
        return;
    if (!pod_watch_read(bytes, length, &change, &state, &object) || change == POD_CHANGE_OUTDATED ||
        change == POD_CHANGE_FAILED) {
        watch->is_broken = true;
        watch->failures += change != POD_CHANGE_OUTDATED;
        watch->version[0] = '\0';
        return;
    }
    watch->failures = 0;
    (void)snprintf(watch->version, sizeof(watch->version), "%s", state.version);
    if (change != POD_CHANGE_NONE)
        pods_take(pods, object, &state, change == POD_CHANGE_DELETED);
}

/* The server ends each watch after a while without notice, and a connection may be cut. A watch
 * begins again only if there are pods. */
static void take_end(void *user, const struct api_answer *answer)
{
    struct pods *pods = user;
    struct pods_watch *watch = &pods->watch;
    watch->call = NULL;
    if (answer->fault.problem == API_PROBLEM_NONE && answer->status != STATUS_OK) {
        watch->version[0] = '\0';
        note_failure(pods, answer);
    } else if (answer->fault.problem != API_PROBLEM_NONE) {
        note_failure(pods, answer);
    }
    if (pods->list)
        ask(pods);
    else
        pods_watch_end(pods);
}
