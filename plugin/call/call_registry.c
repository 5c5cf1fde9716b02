/* SPDX-License-Identifier: Apache-2.0 */
/* The list of calls under way. Runs in the gateway, on any thread; the mutex is held for a few
 * instructions only. */
#include "call/call_registry.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "admission/admission.h"
#include "approval/approval.h"
#include "base/cleanup.h"

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t registry_emptied = PTHREAD_COND_INITIALIZER;
static struct registered_call *registry;
static uint64_t registry_count;
static unsigned shutting_down;

bool call_register(struct registered_call *call, uint64_t call_id, struct error *error)
{
    call->call_id = call_id;
    atomic_init(&call->cancelled, false);
    call->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (call->cancel_fd < 0) {
        error_set_errno(error, ERROR_INTERNAL, errno,
                        "cannot create an event descriptor for the call");
        return false;
    }
    (void)pthread_mutex_lock(&registry_mutex);
    bool closed = shutting_down > 0;
    if (!closed) {
        call->next = registry;
        registry = call;
        registry_count++;
    }
    (void)pthread_mutex_unlock(&registry_mutex);
    if (!closed)
        return true;
    close_fd(TAKE_FD(call->cancel_fd));
    error_set(error, ERROR_CANCELLED, "the provider is shutting down");
    return false;
}

void call_unregister(struct registered_call *call)
{
    if (call->cancel_fd < 0)
        return;
    (void)pthread_mutex_lock(&registry_mutex);
    struct registered_call **place = &registry;
    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    registry_count--;
    if (registry_count == 0)
        (void)pthread_cond_broadcast(&registry_emptied);
    (void)pthread_mutex_unlock(&registry_mutex);
    close_fd(TAKE_FD(call->cancel_fd));
}

/* Called with the mutex held. */
static void cancel(struct registered_call *call)
{
    atomic_store(&call->cancelled, true);
    (void)eventfd_write(call->cancel_fd, 1);
}

/* Those that wait and do not poll. Called without the mutex. */
void call_wake_cancelled(void)
{
    approval_wake_all();
    admission_wake_cancelled();
}

bool call_cancel(uint64_t call_id)
{
    bool found = false;
    if (call_id == 0)
        return false;
    (void)pthread_mutex_lock(&registry_mutex);
    for (struct registered_call *call = registry; call; call = call->next) {
        if (call->call_id != call_id)
            continue;
        cancel(call);
        found = true;
    }
    (void)pthread_mutex_unlock(&registry_mutex);
    if (found)
        call_wake_cancelled();
    return found;
}

void call_cancel_one(const struct registered_call *wanted)
{
    (void)pthread_mutex_lock(&registry_mutex);
    for (struct registered_call *call = registry; call; call = call->next)
        if (call == wanted)
            cancel(call);
    (void)pthread_mutex_unlock(&registry_mutex);
}

void call_note_callback(struct registered_call *call, bool is_inside)
{
    (void)pthread_mutex_lock(&registry_mutex);
    call->is_in_callback = is_inside;
    call->thread = pthread_self();
    (void)pthread_mutex_unlock(&registry_mutex);
}

bool call_is_nested(void)
{
    bool found = false;
    (void)pthread_mutex_lock(&registry_mutex);
    for (const struct registered_call *call = registry; call && !found; call = call->next)
        found = call->is_in_callback && pthread_equal(call->thread, pthread_self());
    (void)pthread_mutex_unlock(&registry_mutex);
    return found;
}

void call_cancel_all_and_wait(void)
{
    (void)pthread_mutex_lock(&registry_mutex);
    shutting_down++;
    for (struct registered_call *call = registry; call; call = call->next)
        cancel(call);
    (void)pthread_mutex_unlock(&registry_mutex);

    call_wake_cancelled();

    (void)pthread_mutex_lock(&registry_mutex);
    while (registry_count > 0)
        (void)pthread_cond_wait(&registry_emptied, &registry_mutex);
    (void)pthread_mutex_unlock(&registry_mutex);
}

void call_admit_again(void)
{
    (void)pthread_mutex_lock(&registry_mutex);
    shutting_down--;
    (void)pthread_mutex_unlock(&registry_mutex);
}

uint64_t call_count(void)
{
    (void)pthread_mutex_lock(&registry_mutex);
    uint64_t count = registry_count;
    (void)pthread_mutex_unlock(&registry_mutex);
    return count;
}

void call_registry_after_fork(void)
{
    registry_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    registry_emptied = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    registry = NULL;
    registry_count = 0;
    shutting_down = 0;
}
