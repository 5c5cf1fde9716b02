/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a watch, and a pod or a claim in it: what is taken of it fits, is printable, and can
 * stand in the path of a request; the pod that was asked for is the only one that passes for it.
 * And the same bytes as a kubeconfig. */
#include "backends/kubernetes/api/yaml_document.h"
#include "backends/kubernetes/claim/claim_config.h"
#include "backends/kubernetes/claim/claim_state.h"
#include "backends/kubernetes/pod/pod_config.h"
#include "backends/kubernetes/pod/pod_state.h"
#include "fuzz.h"

#define ANY_LENGTH 400

static void check_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    MUST(length < size);
    for (size_t i = 0; i < length; i++)
        MUST(text[i] >= ' ' && text[i] <= '~');
}

static void check_name(const char *text, size_t size)
{
    check_text(text, size);
    MUST(strpbrk(text, "/?#%& \\\"") == NULL);
}

static void check_state(const struct pod_state *state)
{
    check_name(state->name, sizeof(state->name));
    check_name(state->uid, sizeof(state->uid));
    check_name(state->version, sizeof(state->version));
    check_name(state->run, sizeof(state->run));
    check_text(state->node, sizeof(state->node));
    check_text(state->reason, sizeof(state->reason));
    check_text(state->message, sizeof(state->message));
    MUST((unsigned int)state->phase <= POD_UNKNOWN);
    (void)pod_state_is_hopeless(state);
}

/* Whatever the object is, it is no pod of an empty configuration's but an empty one. */
static void check_attest(const json_t *object)
{
    json_auto_t *asked = json_pack("{s:{s:[{s:s}]}}", "spec", "containers", "name", "run");
    char field[ANY_LENGTH] = "";
    MUST(asked != NULL);
    if (pod_attest(asked, object, field, sizeof(field)))
        MUST(json_array_size(json_object_get(json_object_get(object, "spec"), "containers")) == 1);
    else
        MUST(field[0] != '\0');
    if (json_is_object(json_object_get(object, "spec")) &&
        json_array_size(json_object_get(json_object_get(object, "spec"), "containers")) == 1)
        (void)pod_attest(object, object, field, sizeof(field));
}

/* The same object as a claim, as its sandbox, and as the pod of one. */
static void check_claim(const json_t *object)
{
    struct claim_state state;
    char uid[POD_VERSION_LIMIT + 1] = "";
    char pod[POD_NAME_LIMIT + 1] = "";
    char field[ANY_LENGTH] = "";
    if (claim_state_read(object, &state)) {
        check_name(state.name, sizeof(state.name));
        check_name(state.uid, sizeof(state.uid));
        check_name(state.version, sizeof(state.version));
        check_name(state.sandbox, sizeof(state.sandbox));
        check_text(state.reason, sizeof(state.reason));
        check_text(state.message, sizeof(state.message));
        MUST(state.created_s >= 0 && (state.word != CLAIM_BOUND || state.sandbox[0] != '\0'));
    }
    if (claim_sandbox_read(object, "u", uid, pod))
        MUST(pod[0] != '\0' && pod[0] != '.');
    check_name(uid, sizeof(uid));
    check_name(pod, sizeof(pod));
    json_auto_t *config = claim_expect_pod(object, object, field, sizeof(field));
    if (config)
        MUST(json_array_size(json_object_get(json_object_get(config, "spec"), "containers")) == 1);
}

static void check_line(const char *text, size_t length)
{
    enum pod_change change = POD_CHANGE_NONE;
    struct pod_state state = {.phase = POD_UNKNOWN};
    json_auto_t *object = NULL;
    bool is_good = pod_watch_read(text, length, &change, &state, &object);
    MUST(is_good == (object != NULL));
    if (!is_good)
        return;
    MUST(json_is_object(object));
    check_state(&state);
    check_attest(object);
    check_claim(object);
}

/* Returns how many nodes there are, keys too. */
static unsigned int check_value(json_t *value, unsigned int depth)
{
    unsigned int nodes = 1;
    const char *key;
    json_t *member;
    size_t i;
    MUST(depth <= YAML_DOCUMENT_DEPTH + 1 && !json_is_number(value));
    MUST(!json_is_string(value) || strlen(json_string_value(value)) == json_string_length(value));
    json_object_foreach(value, key, member) nodes += 1 + check_value(member, depth + 1);
    json_array_foreach(value, i, member) nodes += check_value(member, depth + 1);
    return nodes;
}

/* For YAML a line ends with a character that has one of these bytes, in UTF-8 or UTF-16. The end is
 * a line of its own. */
static void check_document(const char *text, size_t length)
{
    static const char ends[] = {'\n', '\r', '\x85', '\xa8', '\xa9', '(', ')'};
    size_t line = 0;
    json_auto_t *json = yaml_document_read(text, length, &line);
    size_t lines = 2;
    for (size_t i = 0; i < length; i++)
        lines += memchr(ends, text[i], sizeof(ends)) != NULL;
    if (json)
        MUST(check_value(json, 1) <= YAML_DOCUMENT_NODES);
    else
        MUST(line >= 1 && line <= lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_exact(data, size);
    check_line((const char *)exact, size);
    check_document((const char *)exact, size);
    free(exact);
    return 0;
}
