/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of what can be wrong with an engine: see engine_fault.h. Runs in the docker
 * backend. */
#include "backends/docker/engine/engine_fault.h"

#include <stdio.h>

#include "base/error.h"

#define PROCESS_MODE "where the policy allows it set CODE_EXEC_SANDBOX=process"
#define CALL_AGAIN   "see the engine's own log; call again, and if it repeats, run: toolhost doctor"

static const struct {
    enum error_code code;
    const char *remedy;
} problems[ENGINE_PROBLEM_COUNT] = {
    [ENGINE_PROBLEM_NONE] = {ERROR_BACKEND_UNAVAILABLE, "run: toolhost doctor"},
    [ENGINE_PROBLEM_ADDRESS] =
        {ERROR_BACKEND_UNAVAILABLE,
         "correct the policy's \"docker.host\" or DOCKER_HOST (unix:///PATH, tcp://HOST:PORT), or "
         "the docker context (docker context ls, docker context use)"},
    [ENGINE_PROBLEM_NOT_INSTALLED] =
        {ERROR_BACKEND_UNAVAILABLE,
         "install Docker (Debian: docker.io), name its socket in DOCKER_HOST or in the policy's "
         "\"docker.host\", or " PROCESS_MODE "; a weaker mode is never chosen automatically"},
    [ENGINE_PROBLEM_NOT_RUNNING] =
        {ERROR_BACKEND_UNAVAILABLE,
         "start the Docker daemon (systemctl start docker), or " PROCESS_MODE},
    [ENGINE_PROBLEM_NO_PERMISSION] =
        {ERROR_BACKEND_UNAVAILABLE,
         "let the gateway's user use the socket (usermod -aG docker USER; the group docker is as "
         "good as root), run a rootless engine, or " PROCESS_MODE},
    [ENGINE_PROBLEM_API_TOO_OLD] = {ERROR_BACKEND_UNAVAILABLE, "upgrade to Docker 20.10 or newer"},
    [ENGINE_PROBLEM_NO_SECCOMP] = {ERROR_SANDBOX_UNAVAILABLE,
                                   "the engine's kernel needs CONFIG_SECCOMP_FILTER, and the "
                                   "engine must be built with seccomp"},
    [ENGINE_PROBLEM_UNFIT] =
        {ERROR_SANDBOX_UNAVAILABLE,
         "use a Docker Engine (a rootless one needs no more rights than Podman), or " PROCESS_MODE},
    [ENGINE_PROBLEM_NO_LIMITS] = {ERROR_SANDBOX_UNAVAILABLE,
                                  "the engine needs the memory, pids and cpu cgroup controllers; a "
                                  "rootless engine needs them delegated"},
    [ENGINE_PROBLEM_CERTIFICATES] =
        {ERROR_BACKEND_UNAVAILABLE,
         "an engine on another machine needs TLS: DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, the "
         "policy's \"docker.certificates\" or the docker context give ca.pem, cert.pem and "
         "key.pem, readable by the gateway's user; the engine's certificate must be for the host "
         "of its address"},
    [ENGINE_PROBLEM_NO_RUNTIME] =
        {ERROR_BACKEND_UNAVAILABLE,
         "install the OCI runtime on the engine's machine and name it in its daemon.json "
         "(\"runtimes\"), or take \"docker.runtime\" out of the policy"},
    [ENGINE_PROBLEM_NO_NETWORK] = {ERROR_BACKEND_UNAVAILABLE,
                                   "start the engine with a bridge, or work without the network"},
    [ENGINE_PROBLEM_NO_IMAGE] = {ERROR_BACKEND_UNAVAILABLE,
                                 "pull or build the image on the engine's machine, or set the "
                                 "policy's \"docker.pull\" to missing"},
    [ENGINE_PROBLEM_PULL_REFUSED] =
        {ERROR_BACKEND_UNAVAILABLE,
         "check that the engine reaches the registry and that the name is right; pull an image "
         "that needs a login by hand: docker pull"},
    [ENGINE_PROBLEM_DIGEST] = {ERROR_BACKEND_UNAVAILABLE,
                               "call again, and have the new image approved; where the policy pins "
                               "a digest, pull exactly that image"},
    [ENGINE_PROBLEM_IMAGE_UNUSED] = {ERROR_BACKEND_UNAVAILABLE,
                                     "change the policy's \"docker.images\""},
    [ENGINE_PROBLEM_REFUSED] = {ERROR_BACKEND_FAILED, CALL_AGAIN},
    [ENGINE_PROBLEM_SILENT] = {ERROR_BACKEND_FAILED, CALL_AGAIN},
    [ENGINE_PROBLEM_ALTERED] =
        {ERROR_SANDBOX_UNAVAILABLE,
         "something between the gateway and the engine changes containers (a plugin, a proxy, an "
         "engine of another kind), so the run was refused"},
    [ENGINE_PROBLEM_NO_GUEST] =
        {ERROR_SANDBOX_UNAVAILABLE,
         "install code-execute-guest for images of this machine's architecture and "
         "code-execute-guest-ARCHITECTURE for others (-arm64, -amd64) beside code-execute-docker, "
         "or use an image of an architecture that is there"},
    [ENGINE_PROBLEM_NO_COMMIT] =
        {ERROR_BACKEND_UNAVAILABLE,
         "the engine, and any proxy or plugin before it, must allow what puts our guest into an "
         "image: containers/create, PUT containers/ID/archive and commit; see the engine's own "
         "log"},
    [ENGINE_PROBLEM_IMAGE_GONE] = {ERROR_BACKEND_UNAVAILABLE,
                                   "call again; if it repeats, something removes images as soon as "
                                   "they are made"},
    [ENGINE_PROBLEM_PACKAGES] = {ERROR_ENVIRONMENT_CHANGED,
                                 "leave packages out, or ask the operator to build them again: "
                                 "toolhost env build NAME --sandbox docker"},
};

enum run_failure engine_fault_report(const struct engine_fault *fault, struct run_event *event)
{
    event->problem_code = problems[fault->problem].code;
    (void)snprintf(event->remedy, sizeof(event->remedy), "%s", problems[fault->problem].remedy);
    return fault->problem == ENGINE_PROBLEM_NO_IMAGE ? RUN_FAILURE_IMAGE : RUN_FAILURE_BACKEND;
}
