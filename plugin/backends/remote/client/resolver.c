/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the helper process and the questions that are open: see resolver.h. */
#include "backends/remote/client/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LIMIT_MS   10000
#define LIFETIME_S 20 /* of a child that asks */

struct request {
    uint64_t number;
    struct remote_address address;
};

struct reply {
    uint64_t number;
    struct resolved resolved;
};

struct resolver {
    int socket;
    struct watch watch;
    struct event_loop *loop;
    struct question *questions;
    uint64_t last_number;
    struct reply reply; /* too long for the stack */
};

static void resolve(const struct request *request, struct resolved *ret)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int result = getaddrinfo(request->address.host, request->address.port, &hints, &list);
    if (result != 0) {
        (void)snprintf(ret->reason, sizeof(ret->reason), "%s",
                       result == EAI_SYSTEM ? strerrordesc_np(errno) : gai_strerror(result));
        return;
    }
    for (const struct addrinfo *one = list; one && ret->count < RESOLVED_MOST; one = one->ai_next) {
        if (one->ai_addrlen > sizeof(ret->addresses[0].address))
            continue;
        memcpy(&ret->addresses[ret->count].address, one->ai_addr, one->ai_addrlen);
        ret->addresses[ret->count++].length = one->ai_addrlen;
    }
    freeaddrinfo(list);
}

__attribute__((noreturn)) static void answer(int socket, const struct request *request)
{
    static struct reply reply;
    (void)alarm(LIFETIME_S);
    reply.number = request->number;
    resolve(request, &reply.resolved);
    (void)send(socket, &reply, sizeof(reply), MSG_NOSIGNAL);
    _exit(0);
}

/* The helper, until the backend's end of the socket is closed. */
__attribute__((noreturn)) static void help(int socket)
{
    struct request request;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)signal(SIGCHLD, SIG_IGN); /* children are reaped by themselves */
    for (;;) {
        ssize_t length = recv(socket, &request, sizeof(request), 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length != (ssize_t)sizeof(request))
            _exit(0);
        if (fork() == 0)
            answer(socket, &request);
    }
}

struct resolver *resolver_new(void)
{
    int pair[2];
    CLEANUP_FREE struct resolver *resolver = calloc(1, sizeof(*resolver));
    if (!resolver || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return NULL;
    pid_t pid = fork();
    if (pid == 0) {
        /* The helper must not hold any other descriptor of the backend open. */
        if (dup2(pair[1], STDIN_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0U, 0) < 0)
            _exit(1);
        help(STDIN_FILENO);
    }
    close_fd(pair[1]);
    if (pid < 0) {
        close_fd(pair[0]);
        return NULL;
    }
    resolver->socket = pair[0];
    resolver->watch.fd = -1;
    return TAKE_POINTER(resolver);
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver)
        return;
    if (resolver->loop)
        event_loop_unwatch(resolver->loop, &resolver->watch);
    close_fd(resolver->socket);
    free(resolver);
}

static struct question *take_question(struct resolver *resolver, uint64_t number)
{
    for (struct question **place = &resolver->questions; *place; place = &(*place)->next)
        if ((*place)->number == number) {
            struct question *question = *place;
            resolver_forget(question);
            return question;
        }
    return NULL;
}

static void take_reply(struct watch *watch, uint32_t events __attribute__((unused)))
{
    struct resolver *resolver = CONTAINER_OF(watch, struct resolver, watch);
    struct reply *reply = &resolver->reply;
    ssize_t length = recv(resolver->socket, reply, sizeof(*reply), MSG_DONTWAIT);
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
        event_loop_unwatch(resolver->loop, watch); /* questions end by their limits */
    if (length != (ssize_t)sizeof(*reply) || reply->resolved.count > RESOLVED_MOST)
        return;
    struct question *question = take_question(resolver, reply->number);
    if (question)
        question->answered(question, &reply->resolved);
}

bool resolver_begin(struct resolver *resolver, struct event_loop *loop)
{
    resolver->loop = loop;
    resolver->watch = (struct watch){.fd = resolver->socket, .ready = take_reply};
    return event_loop_watch(loop, &resolver->watch, EPOLLIN) == 0;
}

static void give_up(struct timer *timer)
{
    static const struct resolved nothing = {.reason = "the name is not resolved in time"};
    struct question *question = CONTAINER_OF(timer, struct question, limit);
    resolver_forget(question);
    question->answered(question, &nothing);
}

bool resolver_ask(struct resolver *resolver, struct question *question,
                  const struct remote_address *address)
{
    const struct request request = {.number = ++resolver->last_number, .address = *address};
    if (send(resolver->socket, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return false;
    question->number = request.number;
    question->resolver = resolver;
    question->next = resolver->questions;
    question->limit.fire = give_up;
    resolver->questions = question;
    event_loop_after(resolver->loop, &question->limit, LIMIT_MS);
    return true;
}

void resolver_forget(struct question *question)
{
    if (question->number == 0)
        return;
    struct question **place = &question->resolver->questions;
    while (*place != question)
        place = &(*place)->next;
    *place = question->next;
    question->number = 0;
    event_loop_cancel(question->resolver->loop, &question->limit);
}
