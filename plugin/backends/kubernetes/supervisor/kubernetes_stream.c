/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a pod's attached stream, which is api/attach.h's: see struct attached_form. Runs
 * in the kubernetes backend. */
#include <stdint.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/supervisor/kubernetes_container.h"
#include "base/cleanup.h"

static const struct attach *attach_of(const struct container *container)
{
    return ((const struct kubernetes_container *)container)->attach;
}

static struct attach *attach_in(struct container *container)
{
    return kubernetes_container(container)->attach;
}

static void take_connection(void *user, const struct api_fault *fault)
{
    struct container *container = user;
    if (fault && fault->problem != API_PROBLEM_NONE) {
        const struct engine_fault same = cluster_fault(fault);
        container_fail_engine(container, &same);
    } else {
        container_stream_connected(container);
    }
}

static bool open_stream(struct container *container)
{
    struct kubernetes_container *own = kubernetes_container(container);
    const struct engine *cluster = container->engine;
    own->attach = attach_open(cluster->environment->client, &cluster->server,
                              cluster->server.name_space, pod_name(kubernetes_container_pod(own)),
                              POD_CONTAINER, take_connection, container);
    return own->attach != NULL;
}

static void close_stream(struct container *container)
{
    attach_close(TAKE_POINTER(kubernetes_container(container)->attach));
}

static int descriptor(const struct container *container)
{
    return attach_fd(attach_of(container));
}

static int ask(struct container *container)
{
    return attach_ask(attach_in(container));
}

static ssize_t send_bytes(struct container *container, const void *bytes, size_t length)
{
    return attach_send(attach_in(container), bytes, length);
}

static void flush(struct container *container)
{
    attach_flush(attach_in(container));
}

static bool has_unsent(const struct container *container)
{
    return attach_has_unsent(attach_of(container));
}

static ssize_t receive_bytes(struct container *container, void *bytes, size_t capacity)
{
    return attach_receive(attach_in(container), bytes, capacity);
}

static ptrdiff_t feed(struct container *container, const unsigned char *bytes, size_t length,
                      struct attached_piece *ret, struct engine_fault *fault)
{
    static const enum attached_word words[] = {
        [ATTACH_WORD_NONE] = ATTACHED_NOTHING,  [ATTACH_WORD_OPENED] = ATTACHED_OPENED,
        [ATTACH_WORD_STDOUT] = ATTACHED_STDOUT, [ATTACH_WORD_STDERR] = ATTACHED_STDERR,
        [ATTACH_WORD_END] = ATTACHED_END,
    };
    struct attach_said said = {.word = ATTACH_WORD_NONE};
    struct api_fault why;
    ptrdiff_t taken = attach_feed(attach_in(container), bytes, length, &said, &why);
    if (taken < 0)
        *fault = cluster_fault(&why);
    *ret = (struct attached_piece){words[said.word], said.bytes, said.length};
    return taken;
}

/* Only the server's close frame is an end, whether or not the connection was cut. */
static bool is_whole(const struct container *container, bool cut)
{
    (void)cut;
    return attach_is_whole(attach_of(container));
}

int kubernetes_streams_keep_alive(const struct guest_environment *guests, int timeout_ms)
{
    uint64_t now = monotonic_us();
    uint64_t next = UINT64_MAX;
    for (struct container *one = guests->containers; one; one = one->next) {
        struct attach *attach = attach_in(one);
        uint64_t due = attach ? attach_keep_alive(attach, now) : UINT64_MAX;
        next = due < next ? due : next;
    }
    if (next == UINT64_MAX)
        return timeout_ms;
    int until_ms = (int)((next - now) / 1000 + 1);
    return timeout_ms >= 0 && timeout_ms < until_ms ? timeout_ms : until_ms;
}

const struct attached_form kubernetes_attached_form = {
    .open = open_stream,
    .close = close_stream,
    .fd = descriptor,
    .ask = ask,
    .send = send_bytes,
    .flush = flush,
    .has_unsent = has_unsent,
    .receive = receive_bytes,
    .feed = feed,
    .is_whole = is_whole,
};
