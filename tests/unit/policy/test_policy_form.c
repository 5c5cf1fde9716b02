/* SPDX-License-Identifier: Apache-2.0 */
/* policy: which texts are refused, with the place, and which are at the edge of that. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy/policy_parse.h"
#include "tap_suite.h"

static const struct {
    const char *patch;
    const char *message; /* its beginning, behind "policy test: " */
} refused[] = {
    {"{\"x\":1}", "/x: unknown member"},
    {"{\"version\":2}", "/version: must be an integer between 1 and 1"},
    {"{\"version\":null}", "/version: missing"},
    {"{\"description\":1}", "/description: must be a string"},
    {"{\"modes\":null}", "/modes: missing"},
    {"{\"modes\":[]}", "/modes: must be an object"},
    {"{\"modes\":{\"default\":null}}", "/modes/default: missing"},
    {"{\"modes\":{\"default\":\"none\"}}", "/modes/default: is not in \"allowed\""},
    {"{\"modes\":{\"default\":\"podman\"}}", "/modes/default: must be docker, "},
    {"{\"modes\":{\"default\":\"Process\"}}", "/modes/default: must be docker, "},
    {"{\"modes\":{\"allowed\":[]}}", "/modes/allowed: must have at least 1 member"},
    {"{\"modes\":{\"allowed\":[\"process\",\"vm\"]}}", "/modes/allowed/1: must be docker"},
    {"{\"modes\":{\"allowed\":[null]}}", "/modes/allowed/0: must be a string"},
    {"{\"require\":null}", "/require: missing"},
    {"{\"require\":[\"cgroups\"]}", "/require/0: unknown layer"},
    {"{\"capabilities\":null}", "/capabilities: missing"},
    {"{\"capabilities\":[\"sandbox.exec\",\"sandbox.*\"]}", "/capabilities/1: unknown capability"},
    {"{\"capabilities\":[\"\"]}", "/capabilities/0: must not be empty"},
    {"{\"capabilities\":[\"!\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"!!sandbox.exec\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec=x\"]}",
     "/capabilities/0: unknown capability, or one without"},
    {"{\"capabilities\":[\"sandbox.exec.secrets=\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"!sandbox.exec.secrets=a b\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=a\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=a:\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=a:0\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=a:080\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=a:65536\"]}", "/capabilities/0: unknown"},
    {"{\"capabilities\":[\"sandbox.exec.network=a:100000\"]}", "/capabilities/0: unknown"},
    {"{\"capabilities\":[\"sandbox.exec.network=a:1x\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=A:1\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=:1\"]}", "/capabilities/0: unknown capability"},
    {"{\"capabilities\":[\"sandbox.exec.network=::1:1\"]}", "/capabilities/0: unknown"},
    {"{\"capabilities\":[\"sandbox.exec.network=[::1:1\"]}", "/capabilities/0: unknown"},
    {"{\"capabilities\":[\"sandbox.exec.network=[::1]\"]}", "/capabilities/0: unknown"},
    {"{\"capabilities\":[\"sandbox.exec.files=a\"]}", "/capabilities/0: unknown capability"},
    {"{\"approval\":null}", "/approval: missing"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\",\"reason\":\"\"}]}}",
     "/approval/rules/0/reason: must not be empty"},
    {"{\"approval\":{\"default\":\"yes\"}}", "/approval/default: must be allow, ask or deny"},
    {"{\"approval\":{\"default\":null}}", "/approval/default: missing"},
    {"{\"approval\":{\"timeout_ms\":0}}", "/approval/timeout_ms: must be an integer between 1"},
    {"{\"approval\":{\"timeout_ms\":1.5}}", "/approval/timeout_ms: must be an integer"},
    {"{\"approval\":{\"rules\":{}}}", "/approval/rules: must be an array"},
    {"{\"approval\":{\"rules\":[{}]}}", "/approval/rules/0/decision: missing"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\",\"language\":\"sh\"}]}}",
     "/approval/rules/0/language: unknown member"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\"},{\"decision\":\"ask\",\"languages\":[\"py\"]"
     "}"
     "]}}",
     "/approval/rules/1/languages/0: unknown language"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\",\"languages\":[]}]}}",
     "/approval/rules/0/languages: must have at least 1 member"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\",\"modes\":[\"all\"]}]}}",
     "/approval/rules/0/modes/0: must be docker"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\",\"network\":\"no\"}]}}",
     "/approval/rules/0/network: must be true or false"},
    {"{\"approval\":{\"rules\":[{\"decision\":\"ask\",\"secrets\":null}]}}",
     "/approval/rules/0/secrets: must be true or false, or a list of secrets' names"},
    {"{\"approval\":{\"in_band\":1}}", "/approval/in_band: must be true or false"},
    {"{\"workspace\":{\"above\":[]}}", "/workspace/above: unknown member"},
    {"{\"approval\":{\"decisions\":null}}", "/approval/decisions: missing"},
    {"{\"approval\":{\"decisions\":[]}}", "/approval/decisions: must have at least 1 member"},
    {"{\"approval\":{\"decisions\":[\"deny\",\"forever\"]}}",
     "/approval/decisions/1: must be once, session, always, deny, edit or cells"},
    {"{\"secrets\":{\"rules\":[]}}", "/secrets/rules: must be an object"},
    {"{\"secrets\":{\"rules\":{\"a b\":{}}}}", "/secrets/rules/a b: must be a secret's name"},
    {"{\"secrets\":{\"rules\":{\"a\":true}}}", "/secrets/rules/a: must be an object"},
    {"{\"secrets\":{\"rules\":{\"a\":{\"mode\":[]}}}}", "/secrets/rules/a/mode: unknown member"},
    {"{\"secrets\":{\"rules\":{\"a\":{\"modes\":[]}}}}",
     "/secrets/rules/a/modes: must have at least 1 member"},
    {"{\"only_languages\":[]}", "/only_languages: must have at least 1 member"},
    {"{\"only_languages\":\"sh\"}", "/only_languages: must be an array"},
    {"{\"only_languages\":[\"sh\",\"py\"]}", "/only_languages/1: unknown language"},
    {"{\"only_languages\":[\"sh\",\"lua\"],\"languages\":{\"lua\":null}}",
     "/only_languages/1: is not in \"languages\""},
    {"{\"secrets\":{\"rules\":{\"a\":{\"languages\":[\"py\"]}}}}",
     "/secrets/rules/a/languages/0: unknown language"},
    {"{\"secrets\":{\"rules\":{\"a\":{\"approval\":1}}}}",
     "/secrets/rules/a/approval: must be a string"},
    {"{\"secrets\":{\"rules\":{\"*\":{\"approval\":\"allow\"}}}}",
     "/secrets/rules/*/approval: must be \"ask\", or absent"},
    {"{\"languages\":{\"python\":{\"limits\":[]}}}", "/languages/python/limits: must be an object"},
    {"{\"languages\":{\"python\":{\"limits\":{\"wall\":{}}}}}",
     "/languages/python/limits/wall: unknown member"},
    {"{\"languages\":{\"python\":{\"limits\":{\"wall_ms\":{\"min\":1}}}}}",
     "/languages/python/limits/wall_ms/min: unknown member"},
    {"{\"languages\":{\"python\":{\"limits\":{\"wall_ms\":{\"default\":0}}}}}",
     "/languages/python/limits/wall_ms/default: must be an integer between 1"},
    {"{\"languages\":{\"python\":{\"limits\":{\"cpu_ms\":{\"max\":-1}}}}}",
     "/languages/python/limits/cpu_ms/max: must be an integer between 1"},
    {"{\"languages\":{\"python\":{\"limits\":{\"wall_ms\":{\"max\":9999}}}}}",
     "/languages/python/limits/wall_ms: the default of 10000 is more than the max of 9999"},
    {"{\"network\":{\"allowed\":1}}", "/network/allowed: must be true or false"},
    {"{\"network\":true}", "/network: must be an object"},
    {"{\"secrets\":[]}", "/secrets: must be an object"},
    {"{\"secrets\":{\"providers\":{}}}", "/secrets/providers: must be an array"},
    {"{\"secrets\":{\"providers\":[1]}}", "/secrets/providers/0: must be an object"},
    {"{\"secrets\":{\"providers\":[{}]}}", "/secrets/providers/0/type: missing"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"vault\"}]}}",
     "/secrets/providers/0/type: must be systemd, files, environment or"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"systemd\",\"shared\":true}]}}",
     "/secrets/providers/0/shared: unknown member"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"systemd\",\"directory\":\"a\"}]}}",
     "/secrets/providers/0/directory: must be an absolute"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"files\"}]}}",
     "/secrets/providers/0/directory: missing"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"files\",\"directory\":\"/a/../b\"}]}}",
     "/secrets/providers/0/directory: must not have"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"files\",\"directory\":\"/a\",\"x\":1}]}}",
     "/secrets/providers/0/x: unknown member"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"files\",\"directory\":\"/a\",\"shared\":1}]}}",
     "/secrets/providers/0/shared: must be"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"files\",\"directory\":\"/a\",\"links\":\"no\"}]}}",
     "/secrets/providers/0/links: must be"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"environment\"}]}}",
     "/secrets/providers/0/prefix: missing"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"environment\",\"prefix\":\"\"}]}}",
     "/secrets/providers/0/prefix: must"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"environment\",\"prefix\":\"A=B\"}]}}",
     "/secrets/providers/0/prefix: must be the prefix"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"environment\",\"prefix\":\"A\",\"name\":\"B\"}]}}",
     "/secrets/providers/0/name: unknown member"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\"}]}}",
     "/secrets/providers/0/argv: missing"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/cat\"]}]}}",
     "/secrets/providers/0/argv: must have at least 2"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"cat\",\"{name}\"]}]}}",
     "/secrets/providers/0/argv/0: must be an absolute"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/cat\",\"name\"]}]}}",
     "/secrets/providers/0/argv: must have the argument \"{name}\""},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/cat\",\"a/{name}\"]}]}}",
     "/secrets/providers/0/argv/1: \"{name}\" must be a separate argument"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/"
     "cat\",\"{name}\"],\"environment\":{\"A-B\":\"1\"}}]}}",
     "/secrets/providers/0/environment/A-B: "},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/"
     "cat\",\"{name}\"],\"inherit\":[\"A B\"]}]}}",
     "/secrets/providers/0/inherit/0: must be a variable"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/"
     "cat\",\"{name}\"],\"timeout_ms\":0}]}}",
     "/secrets/providers/0/timeout_ms: must be an integer between 1 and 120000"},
    {"{\"secrets\":{\"providers\":[{\"type\":\"command\",\"argv\":[\"/bin/"
     "cat\",\"{name}\"],\"shell\":true}]}}",
     "/secrets/providers/0/shell: unknown member"},
    {"{\"secrets\":{\"delivery\":\"file\"}}", "/secrets/delivery: must be an object"},
    {"{\"secrets\":{\"delivery\":{\"*\":1}}}", "/secrets/delivery/*: must be a string"},
    {"{\"secrets\":{\"delivery\":{\"*\":\"stdin\"}}}",
     "/secrets/delivery/*: must be environment or file"},
    {"{\"secrets\":{\"delivery\":{\"a\":\"stdin\"}}}",
     "/secrets/delivery/a: must be environment or file"},
    {"{\"secrets\":{\"delivery\":{\"a b\":\"file\"}}}", "/secrets/delivery/a b: must be a secret"},
    {"{\"secrets\":{\"allowed\":[\"a b\"]}}", "/secrets/allowed/0: must be a secret's name"},
    {"{\"secrets\":{\"allowed\":[\"a*\"]}}", "/secrets/allowed/0: must be a secret's name"},
    {"{\"limits\":[]}", "/limits: must be an object"},
    {"{\"limits\":{\"wall_ms\":{\"max\":null}}}", "/limits/wall_ms/max: missing"},
    {"{\"limits\":{\"wall_ms\":null}}", "/limits/wall_ms: missing"},
    {"{\"limits\":{\"wall_ms\":1}}", "/limits/wall_ms: must be an object"},
    {"{\"limits\":{\"wall\":{\"default\":1,\"max\":1}}}", "/limits/wall: unknown member"},
    {"{\"limits\":{\"wall_ms\":{\"default\":0}}}", "/limits/wall_ms/default: must be an integer"},
    {"{\"limits\":{\"wall_ms\":{\"default\":300001}}}",
     "/limits/wall_ms/default: is more than \"max\""},
    {"{\"limits\":{\"wall_ms\":{\"max\":300000001}}}", "/limits/wall_ms/max: must be an integer"},
    {"{\"limits\":{\"scratch_bytes\":{\"default\":0}}}",
     "/limits/scratch_bytes/default: must be an integer between 65536"},
    {"{\"limits\":{\"memory_bytes\":{\"default\":\"256m\"}}}",
     "/limits/memory_bytes/default: must be an integer"},
    {"{\"max_runs\":0}", "/max_runs: must be an integer between 1 and 1024"},
    {"{\"files\":null}", "/files: missing"},
    {"{\"files\":{\"out_of\":{}}}", "/files/out_of: unknown member"},
    {"{\"files\":{\"in\":{\"max_files\":65}}}",
     "/files/in/max_files: must be an integer between 0 and 64"},
    {"{\"files\":{\"in\":{\"total_bytes\":4294967297}}}",
     "/files/in/total_bytes: must be an integer between 0 and 4294967296"},
    {"{\"max_queued\":-1}", "/max_queued: must be an integer between 0 and 4096"},
    {"{\"max_queued\":4097}", "/max_queued: must be an integer between 0 and 4096"},
    {"{\"max_queued\":null}", "/max_queued: missing"},
    {"{\"memory_total_bytes\":16777215}",
     "/memory_total_bytes: must be an integer between 16777216"},
    {"{\"memory_total_bytes\":268435455}",
     "/memory_total_bytes: is less than the 268435456 bytes of one run of "},
    {"{\"memory_total_bytes\":300000000,\"languages\":{\"r\":{\"limits\":{\"memory_bytes\":"
     "{\"default\":300000001}}}}}",
     "/memory_total_bytes: is less than the 300000001 bytes of one run of r"},
    {"{\"approval\":{\"max_waiting\":0}}",
     "/approval/max_waiting: must be an integer between 1 and 1024"},
    {"{\"outer_uids\":[]}", "/outer_uids: must be an object"},
    {"{\"pools\":[]}", "/pools: must be an object"},
    {"{\"pools\":{\"none\":{\"ready\":1}}}", "/pools/none: unknown member"},
    {"{\"pools\":{\"process\":4}}", "/pools/process: must be an object"},
    {"{\"pools\":{\"process\":{\"least\":4}}}", "/pools/process/least: unknown member"},
    {"{\"pools\":{\"process\":{\"ready\":257}}}",
     "/pools/process/ready: must be an integer between 0 and 256"},
    {"{\"pools\":{\"docker\":{\"ready\":257}}}",
     "/pools/docker/ready: must be an integer between 0 and 256"},
    {"{\"pools\":{\"docker\":{\"idle_ms\":86400001}}}",
     "/pools/docker/idle_ms: must be an integer between 1"},
    {"{\"pools\":{\"process\":{\"idle_ms\":0}}}",
     "/pools/process/idle_ms: must be an integer between 1"},
    {"{\"pools\":{\"process\":{\"most\":257}}}",
     "/pools/process/most: must be an integer between 0 and 256"},
    {"{\"pools\":{\"process\":{\"memory_bytes\":1}}}",
     "/pools/process/memory_bytes: must be an integer between 1048576"},
    {"{\"pools\":{\"docker\":{\"most\":1}}}", "/pools/docker/most: unknown member"},
    {"{\"pools\":{\"kubernetes\":{\"ready\":257}}}",
     "/pools/kubernetes/ready: must be an integer between 0 and 256"},
    {"{\"pools\":{\"kubernetes\":{\"most\":1}}}", "/pools/kubernetes/most: unknown member"},
    {"{\"languages\":{\"python\":{\"prepare\":1}}}",
     "/languages/python/prepare: must be an object"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"interpreter\":\"ruby\"}}}}",
     "/languages/python/prepare/interpreter: must be python or node"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"interpreter\":\"node\"}}}}",
     "/languages/python/prepare/"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"fork\":1}}}}",
     "/languages/python/prepare/fork: must be"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"import\":[\"a b\"]}}}}",
     "/languages/python/prepare/import/0: must be letters"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"import\":{}}}}}",
     "/languages/python/prepare/import: must be"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"renew_runs\":0}}}}",
     "/languages/python/prepare/renew_runs: must be an integer between 1"},
    {"{\"languages\":{\"python\":{\"prepare\":{\"renew_ms\":0}}}}",
     "/languages/python/prepare/renew_ms: must be an integer between 1"},
    {"{\"languages\":{\"javascript\":{\"prepare\":{\"fork\":true}}}}",
     "/languages/javascript/prepare/fork: unknown member"},
    {"{\"outer_uids\":{\"first\":0}}", "/outer_uids/first: must be an integer between 65536"},
    {"{\"outer_uids\":{\"first\":1000}}", "/outer_uids/first: must be an integer between 65536"},
    {"{\"outer_uids\":{\"first\":4294967294,\"count\":64}}", "/outer_uids/count: must be"},
    {"{\"outer_uids\":{\"count\":63}}", "/outer_uids/count: must be an integer between 64"},
    {"{\"runtime_path\":[]}", "/runtime_path: must have at least 1 member"},
    {"{\"runtime_path\":[\"bin\"]}", "/runtime_path/0: must be an absolute path"},
    {"{\"runtime_path\":[\"/usr/../bin\"]}", "/runtime_path/0: must not have empty"},
    {"{\"runtime_path\":[\"/usr/./bin\"]}", "/runtime_path/0: must not have empty"},
    {"{\"runtime_path\":[\"/a\\u0001\"]}", "/runtime_path/0: must not hold control"},
    {"{\"runtime_path\":[\"/a\\u007f\"]}", "/runtime_path/0: must not hold control"},
    {"{\"view\":[]}", "/view: must be an object"},
    {"{\"view\":{\"read_only\":[\"usr\"]}}", "/view/read_only/0: must be an absolute path"},
    {"{\"view\":{\"read_only\":[\"/usr/\"]}}", "/view/read_only/0: must not have empty"},
    {"{\"view\":{\"read_only\":[\"/\"]}}", "/view/read_only/0: the root directory cannot be shown"},
    {"{\"view\":{\"read_only\":[\"/usr\",\"/proc/1\"]}}",
     "/view/read_only/1: the host's /proc is never shown"},
    {"{\"view\":{\"read_only\":[\"/dev\"]}}", "/view/read_only/0: the host's /dev is never shown"},
    {"{\"environment\":null}", "/environment: missing"},
    {"{\"environment\":{\"A B\":\"\"}}", "/environment/A B: a variable's name"},
    {"{\"environment\":{\"PATH\":1}}", "/environment/PATH: must be a string"},
    {"{\"languages\":[]}", "/languages: must be an object"},
    {"{\"languages\":{\"python\":[]}}", "/languages/python: must be an object"},
    {"{\"languages\":{\"python\":{\"modules\":[\"a b\"]}}}",
     "/languages/python/modules/0: must be letters"},
    {"{\"languages\":{\"py\":{}}}", "/languages/py: unknown language"},
    {"{\"languages\":{\"python\":{\"argv\":[]}}}", "/languages/python/argv: must have at least 1"},
    {"{\"languages\":{\"python\":{\"argv\":[\"python3\"]}}}",
     "/languages/python/argv: must have the argument \"{file}\""},
    {"{\"languages\":{\"python\":{\"argv\":[\"{file}\"]}}}",
     "/languages/python/argv: must have the argument \"{file}\""},
    {"{\"languages\":{\"python\":{\"file\":\"-x\"}}}", "/languages/python/file: must be letters"},
    {"{\"languages\":{\"python\":{\"file\":\"../x\"}}}", "/languages/python/file: must be letters"},
    {"{\"languages\":{\"python\":{\"file\":null}}}", "/languages/python/file: missing"},
    {"{\"languages\":{\"python\":{\"package\":\"a;b\"}}}",
     "/languages/python/package: must be letters"},
    {"{\"languages\":{\"python\":{\"read_only\":[\"x\"]}}}",
     "/languages/python/read_only/0: must be an absolute path"},
    {"{\"languages\":{\"python\":{\"environment\":{\"1\":\"\"}}}}",
     "/languages/python/environment/1: a variable's name"},
    {"{\"docker\":[]}", "/docker: must be an object"},
    {"{\"docker\":{\"host\":1}}", "/docker/host: must be a string"},
    {"{\"docker\":{\"host\":\"unix:///a\\u007f\"}}", "/docker/host: must be printable"},
    {"{\"docker\":{\"context\":1}}", "/docker/context: must be a string"},
    {"{\"docker\":{\"certificates\":1}}", "/docker/certificates: must be a string"},
    {"{\"docker\":{\"pull\":null}}", "/docker/pull: missing"},
    {"{\"docker\":{\"images\":null}}", "/docker/images: missing"},
    {"{\"docker\":{\"images\":{\"python\":true}}}", "/docker/images/python: must be an image's"},
    {"{\"docker\":{\"images\":{\"python\":{\"name\":\"p\"}}}}",
     "/docker/images/python/name: unknown member"},
    {"{\"docker\":{\"require_digest\":null}}", "/docker/require_digest: missing"},
    {"{\"docker\":{\"images\":{\"cobol\":\"x\"}}}", "/docker/images/cobol: unknown language"},
    {"{\"docker\":{\"host\":\"unix:///a b\"}}", "/docker/host: must be printable"},
    {"{\"docker\":{\"images\":{\"python\":\"\"}}}", "/docker/images/python: must not be empty"},
    {"{\"docker\":{\"images\":{\"python\":\"a b\"}}}", "/docker/images/python: must be an image"},
    {"{\"docker\":{\"images\":{\"python\":\"-v\"}}}", "/docker/images/python: must be an image"},
    {"{\"docker\":{\"images\":{\"python\":{\"argv\":[\"python3\",\"{file}\"]}}}}",
     "/docker/images/python/image: missing"},
    {"{\"docker\":{\"images\":{\"python\":{\"image\":\"p\",\"argv\":[\"python3\"]}}}}",
     "/docker/images/python/argv: must have the argument"},
    {"{\"docker\":{\"images\":\"a b\"}}", "/docker/images: must be an image"},
    {"{\"docker\":{\"pull\":\"often\"}}", "/docker/pull: must be never, missing or always"},
    {"{\"docker\":{\"runtime\":\"a/b\"}}", "/docker/runtime: must be letters"},
    {"{\"docker\":{\"certificates\":\"here\"}}", "/docker/certificates: must be an absolute"},
    {"{\"docker\":{\"offered\":[\"a b\"]}}", "/docker/offered/0: must be an image"},
    {"{\"workspace\":{\"below\":[\"/\"]}}", "/workspace/below/0: the root directory"},
    {"{\"max_runs\":1,\"max_runs\":2}", "/max_runs: duplicate member"},
    {"[]", "must be an object"},
    {"{", "the text ends too early"},
};

static struct policy *load(const char *patch, struct error *error)
{
    return policy_load_text("test", patch, strlen(patch), error);
}

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

/* At the edge of what is refused. */
static const char *const accepted[] = {
    "{\"description\":null}",
    "{\"runtime_path\":[\"/\",\"/a/.b/...\"]}",
    "{\"view\":{\"read_only\":[\"/procfs\",\"/usr/dev\"]}}",
    "{\"secrets\":{\"allowed\":[]}}",
    "{\"outer_uids\":{\"count\":64}}",
    "{\"languages\":{\"python\":{\"modules\":[\"numpy\"]}}}",
    ("{\"capabilities\":[\"!sandbox.exec\",\"sandbox.exec.secrets=a\",\"!sandbox.exec.secrets=b\","
     "\"sandbox.exec.network=a.example-1:443\",\"sandbox.exec.network=[::1]:65535\"]}"),
    "{\"docker\":{\"host\":\"tcp://h:1\",\"context\":\"c\",\"certificates\":\"/c\"}}",
};

START_TEST(refuses_and_names_the_place)
{
    struct error error;
    static const char what[] = "policy test: ";
    ck_assert_ptr_null(load(refused[_i].patch, &error));
    ck_assert_str_eq(error_code_name(error.code), "invalid_policy");
    ck_assert_msg(strncmp(error.message, what, strlen(what)) == 0 &&
                      strncmp(error.message + strlen(what), refused[_i].message,
                              strlen(refused[_i].message)) == 0,
                  "\"%s\" instead of \"%s\"", error.message, refused[_i].message);
}
END_TEST

START_TEST(accepts_what_is_just_right)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *policy = load(accepted[_i], &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
}
END_TEST

START_TEST(an_image_has_a_longest_name)
{
    struct error error;
    for (int length = RUN_IMAGE_LIMIT; length <= RUN_IMAGE_LIMIT + 1; length++) {
        char patch[RUN_IMAGE_LIMIT + 64];
        (void)snprintf(patch, sizeof(patch), "{\"docker\":{\"offered\":[\"%0*d\"]}}", length, 1);
        CLEANUP(cleanup_policy) struct policy *policy = load(patch, &error);
        ck_assert_int_eq(policy != NULL, length == RUN_IMAGE_LIMIT);
    }
    ck_assert_ptr_nonnull(strstr(error.message, "/docker/offered/0: must be at most"));
}
END_TEST

START_TEST(a_path_has_a_longest_form)
{
    struct error error;
    for (int length = PATH_LIMIT; length <= PATH_LIMIT + 1; length++) {
        char patch[PATH_LIMIT + 64];
        (void)snprintf(patch, sizeof(patch), "{\"workspace\":{\"below\":[\"/%0*d\"]}}", length - 1,
                       1);
        CLEANUP(cleanup_policy) struct policy *policy = load(patch, &error);
        ck_assert_int_eq(policy != NULL, length == PATH_LIMIT);
    }
    ck_assert_ptr_nonnull(strstr(error.message, "/workspace/below/0: must be at most 4095 bytes"));
}
END_TEST

/* Lists that no table of texts holds well. */
START_TEST(refuses_too_much_about_secrets)
{
    static char text[65536];
    static const char *const places[] = {"/secrets/providers: ", "/secrets/providers/0/argv: ",
                                         "/secrets/providers/0/argv/1: ", "/secrets/delivery: "};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char *end = stpcpy(text, "{\"secrets\":{");
        if (i < 3)
            end = stpcpy(end, "\"providers\":[");
        if (i == 1 || i == 2)
            end = stpcpy(end, "{\"type\":\"command\",\"argv\":[\"/bin/a\",\"");
        for (int n = 0; i == 0 && n < 17; n++)
            end = stpcpy(end, n == 0 ? "{\"type\":\"systemd\"}" : ",{\"type\":\"systemd\"}");
        for (int n = 0; i == 1 && n < 64; n++)
            end = stpcpy(end, "{name}\",\"");
        for (int n = 0; i == 2 && n < 1025; n++) /* one argument */
            end = stpcpy(end, "x");
        if (i == 1 || i == 2)
            end = stpcpy(end, "x\"]}");
        if (i == 3)
            end = stpcpy(end, "\"delivery\":{\"a\":\"file\"");
        for (int n = 0; i == 3 && n < 256; n++)
            end += sprintf(end, ",\"a%d\":\"file\"", n);
        (void)stpcpy(end, i < 3 ? "]}}" : "}}}");
        struct error error;
        struct policy *policy = policy_load_text("test", text, strlen(text), &error);
        ck_assert_ptr_null(policy);
        ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
        ck_assert_msg(strstr(error.message, places[i]) != NULL, "%s", error.message);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("refused"), tcase_create("accepted")};
    tcase_add_loop_test(cases[0], refuses_and_names_the_place, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], refuses_too_much_about_secrets);
    tcase_add_loop_test(cases[1], accepts_what_is_just_right, 0, COUNT_OF(accepted));
    tcase_add_test(cases[1], an_image_has_a_longest_name);
    tcase_add_test(cases[1], a_path_has_a_longest_form);
    return run_suite("policy form", cases, COUNT_OF(cases));
}
