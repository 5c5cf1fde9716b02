/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate when the system fails a call of it, and when what was approved is not what would run.
 * The trial is left out (its answer is this program's), so that what is behind it can be seen in
 * docker mode too. With fake_backend.c beside this program; single-threaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "admission/admission.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "gate/gate.h"
#include "gate_support.h"
#include "recording_host.h"
#include "run/readiness.h"
#include "tap_suite.h"

#define REQUEST(members) "{\"language\":\"sh\",\"code\":\"true\"" members "}"
#define WITH_STDIN       REQUEST(",\"stdin\":\"input\"")

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
char *__real_strdup(const char *string);
int __real_open64(const char *path, int flags, ...);
int __real_memfd_create(const char *name, unsigned flags);
ssize_t __real_write(int fd, const void *bytes, size_t length);
off_t __real_lseek64(int fd, off_t offset, int whence);
int __real_fcntl64(int fd, int command, ...);
char *__wrap_strdup(const char *string);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_memfd_create(const char *name, unsigned flags);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
off_t __wrap_lseek64(int fd, off_t offset, int whence);
int __wrap_fcntl64(int fd, int command, ...);
bool __wrap_readiness_check(const struct trial_subject *subject,
                            const struct trial_watcher *watcher, char ret_image_id[IMAGE_ID_SIZE],
                            struct error *error);

bool __real_readiness_is_known(const struct trial_subject *subject);
bool __wrap_readiness_is_known(const struct trial_subject *subject);

enum call_name { NO_CALL, STRDUP, OPEN, MEMFD, WRITE, SEEK, SEAL };

static const char *image_id = ""; /* what the trial answers */
static enum call_name failing;    /* the next such call, once */
static int failing_with;

static bool fails(enum call_name name)
{
    if (failing != name)
        return false;
    failing = NO_CALL;
    errno = failing_with;
    return true;
}

bool __wrap_readiness_check(const struct trial_subject *subject,
                            const struct trial_watcher *watcher, char ret_image_id[IMAGE_ID_SIZE],
                            struct error *error)
{
    (void)subject;
    (void)watcher;
    (void)error;
    (void)snprintf(ret_image_id, IMAGE_ID_SIZE, "%s", image_id);
    return true;
}

static bool known; /* what the trial would answer */

bool __wrap_readiness_is_known(const struct trial_subject *subject)
{
    return known || __real_readiness_is_known(subject);
}

static time_t later_s; /* how much later than it is */
static time_t seconds_to_pass;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int result = __real_clock_gettime(clock, ret);
    ret->tv_sec += later_s;
    return result;
}

char *__wrap_strdup(const char *string)
{
    return strcmp(string, image_id) == 0 && fails(STRDUP) ? NULL : __real_strdup(string);
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return fails(OPEN) ? -1 : __real_open64(path, flags, mode);
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    return fails(MEMFD) ? -1 : __real_memfd_create(name, flags);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t length)
{
    return fails(WRITE) ? -1 : __real_write(fd, bytes, length);
}

off_t __wrap_lseek64(int fd, off_t offset, int whence)
{
    return fails(SEEK) ? -1 : __real_lseek64(fd, offset, whence);
}

int __wrap_fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return command == F_ADD_SEALS && fails(SEAL) ? -1 : __real_fcntl64(fd, command, argument);
}

/* One call of open_stdin() each, which is the first to make it behind the start record. */
static const struct {
    enum call_name name;
    int error_number;
    const char *input;
    const char *message; /* its beginning; NULL: it runs all the same */
} faults[] = {
    {OPEN, EMFILE, REQUEST(""), "/dev/null cannot be opened"},
    {MEMFD, EMFILE, WITH_STDIN, "no memory file for the standard input"},
    {WRITE, ENOMEM, WITH_STDIN, "the standard input cannot be written"},
    {WRITE, EINTR, WITH_STDIN, NULL},
    {SEEK, ESPIPE, WITH_STDIN, "the standard input cannot be sealed"},
    {SEAL, EPERM, WITH_STDIN, "the standard input cannot be sealed"},
};

static enum call_name failing_after_start;

static void arm_after_start(void *user, const char *record_json, uint32_t *verdict)
{
    record_audit(user, record_json, verdict);
    if (strstr(record_json, "\"event\":\"start\"") != NULL)
        failing = failing_after_start;
}

START_TEST(a_fault_behind_the_start_record_is_told_and_recorded)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    host.audit = arm_after_start;
    failing_after_start = faults[_i].name;
    failing_with = faults[_i].error_number;
    configure_policy("{}", "process");
    bool runs = faults[_i].message == NULL;
    json_auto_t *result =
        invoke("code_execute", faults[_i].input, &host, runs ? TOOL_OK : TOOL_NOT_RUN);
    ck_assert_int_eq(failing, NO_CALL); /* or the wrapping did not work */
    ck_assert_str_eq(error_code_of(result), runs ? "" : "internal");
    const char *message =
        json_string_value(json_object_get(json_object_get(result, "error"), "message"));
    if (!runs)
        ck_assert_msg(strncmp(message, faults[_i].message, strlen(faults[_i].message)) == 0, "%s",
                      message);
    ck_assert_str_eq(recorded.called, runs ? "CAWOW" : "CAW");
    ck_assert_str_eq(recorded.first_record, "start");
    ck_assert_str_eq(recorded.last_record, "end");
}
END_TEST

struct asked {
    struct recording_host recorded; /* first: it is the callbacks' user */
    char request_sha256[SHA256_HEX_LENGTH + 1];
    char image_id[IMAGE_ID_SIZE];
};

static void remember_approval(void *user, uint64_t token, const char *request_json,
                              uint32_t *verdict)
{
    struct asked *asked = user;
    record_approval(user, token, request_json, verdict);
    json_auto_t *request = json_loads(request_json, 0, NULL);
    (void)snprintf(asked->request_sha256, sizeof(asked->request_sha256), "%s",
                   json_string_value(json_object_get(request, "request_sha256")));
    const char *id = json_string_value(json_object_get(request, "image_id"));
    (void)snprintf(asked->image_id, sizeof(asked->image_id), "%s", id != NULL ? id : "");
}

/* In docker mode, whose backend is not there: it ends where the run would begin. */
static json_t *ask_for_image(const char *id, struct asked *asked)
{
    struct tool_host host = recording_host(&asked->recorded);
    host.request_approval = remember_approval;
    image_id = id;
    configure_policy("{}", "docker");
    return invoke("code_execute", REQUEST(""), &host, TOOL_NOT_RUN);
}

START_TEST(the_image_that_the_trial_met_is_what_is_approved)
{
    struct asked one;
    struct asked other;
    json_decref(ask_for_image("sha256:1", &one));
    json_decref(ask_for_image("sha256:2", &other));
    ck_assert_str_eq(one.image_id, "sha256:1");
    ck_assert_str_eq(other.image_id, "sha256:2");
    ck_assert_str_ne(one.request_sha256, other.request_sha256);
    ck_assert_str_eq(one.recorded.first_record, "start");
}
END_TEST

START_TEST(no_approval_is_asked_for_an_image_that_cannot_be_kept)
{
    struct asked asked;
    failing = STRDUP;
    json_auto_t *result = ask_for_image("sha256:1", &asked);
    ck_assert_str_eq(error_code_of(result), "out_of_memory");
    ck_assert_str_eq(asked.recorded.called, "CW");
    ck_assert_str_eq(asked.recorded.first_record, "refused");
}
END_TEST

static void alter_hashed_code(struct call *call)
{
    call->request.code[0] ^= 1;
}

static void alter_length(struct call *call)
{
    call->description.files[0].length--;
}

static void alter_content(struct call *call)
{
    call->description.files[0].content[0] ^= 1;
}

static void alter_limit(struct call *call)
{
    call->description.limits.memory_bytes++;
}

static void (*const alterations[])(struct call *call) = {alter_hashed_code, alter_length,
                                                         alter_content, alter_limit};

static struct call altered_call;
static void (*alteration)(struct call *call);

static void alter_and_approve(void *user, uint64_t token, const char *request_json,
                              uint32_t *verdict)
{
    record_approval(user, token, request_json, verdict);
    alteration(&altered_call);
}

START_TEST(a_request_that_changed_after_its_approval_does_not_run)
{
    struct recording_host recorded;
    struct error error;
    struct tool_host host = recording_host(&recorded);
    host.request_approval = alter_and_approve;
    alteration = alterations[_i];
    configure_policy("{}", "process");
    call_init(&altered_call, &host);
    ck_assert(!gate_pass(&altered_call, "code_execute", REQUEST(""), &error));
    call_clear(&altered_call);
    ck_assert_str_eq(error.message,
                     "approval mismatch: the request is not the one that was approved");
    ck_assert_int_eq(error.code, ERROR_APPROVAL_MISMATCH);
    ck_assert_str_eq(recorded.called, "CAW");
    ck_assert_str_eq(recorded.first_record, "refused");
}
END_TEST

static void let_time_pass(void *user, const char *name, void *buffer, size_t capacity,
                          size_t *length, uint32_t *verdict)
{
    record_secret(user, name, buffer, capacity, length, verdict);
    later_s = seconds_to_pass;
}

/* Right before the run, and not only where it was given. */
START_TEST(an_approval_that_expired_meanwhile_does_not_run)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    host.read_secret = let_time_pass;
    seconds_to_pass = _i == 0 ? 1 : APPROVAL_RUN_MS / 1000 + 1;
    configure_policy("{\"secrets\":{\"allowed\":[\"t\"]}}", "process");
    json_auto_t *result = invoke("code_execute", REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"),
                                 &host, _i == 0 ? TOOL_OK : TOOL_NOT_RUN);
    later_s = 0;
    ck_assert_str_eq(error_code_of(result), _i == 0 ? "" : "approval_timeout");
    ck_assert_str_eq(recorded.first_record, _i == 0 ? "start" : "refused");
}
END_TEST

/* What starts a process before the approval, a trial or a check, takes a place, and is not made
 * without one. */
START_TEST(a_trial_and_a_content_check_need_a_place)
{
    static const char checking[] =
        "{\"max_runs\":1,\"max_queued\":0,\"content_checks\":{\"command\":{\"action\":\"refuse\","
        "\"required\":true,\"argv\":[\"/nowhere\"],\"timeout_ms\":1000}}}";
    const atomic_bool cancelled = false;
    const bool checks = _i == 1;
    const struct admission_terms terms = {.max_runs = 1, .cancelled = &cancelled};
    struct admission other = {.waited_ms = 0};
    struct recording_host recorded;
    struct error error;
    struct tool_host host = recording_host(&recorded);
    configure_policy(checks ? checking : "{\"max_runs\":1,\"max_queued\":0}", "process");
    known = checks;
    ck_assert(admission_enter(&other, &terms, &error));
    json_auto_t *refused = invoke("code_execute", REQUEST(""), &host, TOOL_NOT_RUN);
    admission_leave(&other);
    ck_assert_str_eq(error_code_of(refused), "too_many_requests");
    ck_assert_str_eq(recorded.called, "CW");
    /* With a place it is made: the trial is well, and the check fails by what it is. */
    json_auto_t *made = invoke("code_execute", REQUEST(""), &host, checks ? TOOL_NOT_RUN : TOOL_OK);
    ck_assert_str_eq(error_code_of(made), checks ? "content_refused" : "");
}
END_TEST

/* Half of its time is all that a call waits, however often it has to: with that behind it, it takes
 * a place that is free, and queues for none. */
START_TEST(a_call_without_patience_left_does_not_wait)
{
    const atomic_bool cancelled = false;
    const struct admission_terms terms = {.max_runs = 1, .cancelled = &cancelled};
    struct admission other = {.waited_ms = 0};
    struct recording_host recorded;
    struct error error;
    struct tool_host host = recording_host(&recorded);
    configure_policy("{\"max_runs\":1,\"max_queued\":5}", "process");
    ck_assert(_i == 1 || admission_enter(&other, &terms, &error));
    call_init(&altered_call, &host);
    altered_call.admission.waited_ms = UINT64_C(1) << 40;
    bool passed = gate_pass(&altered_call, "code_execute", REQUEST(""), &error);
    uint64_t wall_ms = altered_call.description.limits.wall_ms;
    call_clear(&altered_call);
    admission_leave(&other);
    ck_assert_int_eq(passed, _i == 1);
    if (passed)
        ck_assert_uint_eq(wall_ms, 5000); /* half of the policy's 10 s */
    else
        ck_assert_int_eq(error.code, ERROR_TOO_MANY_REQUESTS);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("gate_faults")};
    tcase_set_timeout(cases[0], 30);
    tcase_add_loop_test(cases[0], a_fault_behind_the_start_record_is_told_and_recorded, 0,
                        COUNT_OF(faults));
    tcase_add_test(cases[0], the_image_that_the_trial_met_is_what_is_approved);
    tcase_add_test(cases[0], no_approval_is_asked_for_an_image_that_cannot_be_kept);
    tcase_add_loop_test(cases[0], a_request_that_changed_after_its_approval_does_not_run, 0,
                        COUNT_OF(alterations));
    tcase_add_loop_test(cases[0], an_approval_that_expired_meanwhile_does_not_run, 0, 2);
    tcase_add_loop_test(cases[0], a_trial_and_a_content_check_need_a_place, 0, 2);
    tcase_add_loop_test(cases[0], a_call_without_patience_left_does_not_wait, 0, 2);
    return run_suite("gate_faults", cases, COUNT_OF(cases));
}
