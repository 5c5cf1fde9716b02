/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model's request, in both shapes: a blank behind it and the shape make no difference to what is
 * read, what is taken is within every limit, has one canonical form and becomes a description that
 * a backend takes, and what is refused is told why in printable words.
 */
#include <jansson.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "base/utf8.h"
#include "call/call.h"
#include "fuzz.h"
#include "gate/gate.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"
#include "json/canonical.h"

static struct policy *builtin_policy(void)
{
    static struct policy *policy;
    struct error error;
    if (!policy)
        policy = policy_load_builtin(&error);
    MUST(policy != NULL);
    return policy;
}

static void must_be_text(const char *text, size_t minimum, size_t limit)
{
    size_t length = strlen(text);
    MUST(length >= minimum && length <= limit);
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence((const unsigned char *)text + i, length - i);
        MUST(sequence > 0);
        i += sequence;
    }
}

static void check_environment(char *const *list)
{
    MUST(string_list_count(list) <= REQUEST_ENVIRONMENT_LIMIT);
    for (size_t i = 0; list[i]; i++) {
        size_t length = strcspn(list[i], "=");
        MUST(list[i][length] == '=' && environment_name_valid(list[i], length));
        must_be_text(list[i] + length + 1, 0, REQUEST_STRING_LIMIT);
        for (size_t j = 0; j < i; j++)
            MUST(strncmp(list[i], list[j], length + 1) != 0);
    }
}

static void check_secrets(const struct request *request)
{
    MUST(request->secret_count <= REQUEST_SECRETS_LIMIT);
    for (size_t i = 0; i < request->secret_count; i++) {
        const struct request_secret *secret = &request->secrets[i];
        MUST(environment_name_valid(secret->variable, strlen(secret->variable)));
        MUST(handle_name_valid(secret->name, strlen(secret->name)));
        MUST(!environment_has(request->environment, secret->variable));
        MUST(i == 0 || strcmp(secret->variable, request->secrets[i - 1].variable) > 0);
    }
}

/* Below the directory that it is put into, whatever is there. */
static void check_path(const char *path)
{
    char around[REQUEST_PATH_LIMIT + 3];
    must_be_text(path, 1, REQUEST_PATH_LIMIT);
    (void)snprintf(around, sizeof(around), "/%s/", path);
    MUST(!strstr(around, "//") && !strstr(around, "/./") && !strstr(around, "/../"));
}

/* Neither is the other, or a directory on the way to it. */
static void check_apart(const char *left, const char *right)
{
    char parent[REQUEST_PATH_LIMIT + 2];
    char child[REQUEST_PATH_LIMIT + 2];
    (void)snprintf(parent, sizeof(parent), "%s/", left);
    (void)snprintf(child, sizeof(child), "%s/", right);
    MUST(strncmp(parent, child, strlen(parent)) != 0);
    MUST(strncmp(parent, child, strlen(child)) != 0);
}

static void check_files(const struct request *request)
{
    size_t total = 0;
    MUST(request->file_count <= REQUEST_FILES_LIMIT);
    for (size_t i = 0; i < request->file_count; i++) {
        check_path(request->files[i].path);
        MUST(!request->files[i].ref == !!request->files[i].content);
        if (request->files[i].ref)
            must_be_text(request->files[i].ref, 1, REQUEST_REF_LIMIT);
        total += request->files[i].length;
        for (size_t j = 0; j < i; j++)
            check_apart(request->files[i].path, request->files[j].path);
    }
    MUST(total <= REQUEST_BYTES_LIMIT);
}

static void check_limits(const struct request *request)
{
    MUST(request->language != NULL);
    MUST(strlen(request->code) == request->code_length);
    must_be_text(request->code, 1, REQUEST_CODE_LIMIT);
    if (request->stdin_text)
        must_be_text(request->stdin_text, 0, REQUEST_STDIN_LIMIT);
    MUST(string_list_count(request->args) <= REQUEST_ARGS_LIMIT);
    for (char **argument = request->args; *argument; argument++)
        must_be_text(*argument, 0, REQUEST_STRING_LIMIT);
    check_environment(request->environment);
    check_secrets(request);
    check_files(request);
    MUST(request->timeout_ms <= REQUEST_TIMEOUT_LIMIT);
    if (request->image)
        must_be_text(request->image, 1, REQUEST_IMAGE_LIMIT);
    if (request->session)
        MUST(handle_name_valid(request->session, strlen(request->session)));
    if (request->reason)
        must_be_text(request->reason, 0, REQUEST_STRING_LIMIT);
}

/* As it is hashed, which is what the canonical form of its value is. */
static char *canonical_of(const struct call *call)
{
    size_t length = 0;
    char *text = call_canonical_request(call, &length);
    MUST(text != NULL && strlen(text) == length);
    json_auto_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    CLEANUP_FREE char *canonical = canonical_json(value);
    MUST(canonical != NULL && strcmp(canonical, text) == 0);
    return text;
}

static bool same_text(const char *left, const char *right)
{
    return left && right ? strcmp(left, right) == 0 : left == right;
}

static void must_be_same(const struct request *left, const struct request *right)
{
    const struct configuration configuration = {builtin_policy(), SANDBOX_MODE_PROCESS};
    CLEANUP_FREE struct call *calls = calloc(2, sizeof(*calls));
    MUST(calls != NULL);
    calls[0] = (struct call){.configuration = configuration, .request = *left};
    calls[1] = (struct call){.configuration = configuration, .request = *right};
    CLEANUP_FREE char *of_left = canonical_of(&calls[0]);
    CLEANUP_FREE char *of_right = canonical_of(&calls[1]);
    MUST(strcmp(of_left, of_right) == 0);
    MUST(left->timeout_ms == right->timeout_ms && same_text(left->image, right->image));
    MUST(same_text(left->session, right->session) && same_text(left->reason, right->reason));
}

static void must_be_told(const struct error *error)
{
    MUST(error->code == ERROR_INVALID_INPUT || error->code == ERROR_UNKNOWN_LANGUAGE);
    MUST(strncmp(error->message, "request: ", 9) == 0 && error->hint[0]);
    for (const char *c = error->message; *c; c++)
        MUST(*c >= ' ' && *c <= '~');
}

/* Files by reference get their hashes as if they had been read. */
static void must_be_a_description(struct run_description *description)
{
    struct run_description decoded;
    size_t length = 0;
    for (size_t i = 0; i < description->file_count; i++)
        if (description->files[i].by_reference)
            memset(description->files[i].sha256, 'a', RUN_HASH_LENGTH);
    CLEANUP_FREE unsigned char *bytes = run_description_encode(description, &length);
    MUST(bytes && run_description_decode(bytes, length, &decoded));
    MUST(decoded.file_count == description->file_count);
    run_description_clear(&decoded);
}

/* As the gate does it. Takes the request. */
static void try_plan(struct request *request)
{
    struct error error = {.code = ERROR_CODE_COUNT};
    CLEANUP_FREE struct call *call = calloc(1, sizeof(*call));
    MUST(call != NULL);
    call_init(call, NULL);
    call->configuration.policy = policy_ref(builtin_policy());
    call->configuration.mode = SANDBOX_MODE_PROCESS;
    call->request = *request;
    call->parsed = true;
    if (plan_run(call, &error)) {
        CLEANUP_FREE char *once = canonical_of(call);
        CLEANUP_FREE char *again = canonical_of(call);
        MUST(strcmp(once, again) == 0);
        MUST(call->description.limits.wall_ms <=
             call->configuration.policy->limits.wall_ms.maximum);
        MUST(call->description.file_count == call->request.file_count + 1);
        must_be_a_description(&call->description);
    } else {
        MUST(error.code < ERROR_CODE_COUNT && error.code != ERROR_OUT_OF_MEMORY);
        MUST(error.message[0] && error.hint[0]);
    }
    call_clear(call);
}

struct reading {
    bool taken;
    struct request request;
    struct error error;
};

static void read_as(enum request_shape shape, const uint8_t *data, size_t size, struct reading *ret)
{
    CLEANUP_FREE uint8_t *exact = fuzz_exact(data, size);
    ret->taken = request_parse(shape, (const char *)exact, size, &ret->request, &ret->error);
    if (ret->taken)
        check_limits(&ret->request);
    else
        must_be_told(&ret->error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading readings[3];
    CLEANUP_FREE uint8_t *longer = malloc(size + 1);
    MUST(longer != NULL);
    if (size)
        memcpy(longer, data, size);
    longer[size] = ' ';
    read_as(REQUEST_CODE_EXECUTE, data, size, &readings[0]);
    read_as(REQUEST_CODE_EXECUTE, longer, size + 1, &readings[1]);
    read_as(REQUEST_SANDBOX_EXEC, data, size, &readings[2]);
    for (size_t i = 1; i < COUNT_OF(readings); i++) {
        MUST(readings[i].taken == readings[0].taken);
        if (readings[0].taken)
            must_be_same(&readings[0].request, &readings[i].request);
        else
            MUST(readings[i].error.code == readings[0].error.code);
    }
    for (size_t i = 0; i < COUNT_OF(readings); i++)
        if (readings[i].taken)
            try_plan(&readings[i].request);
    return 0;
}
