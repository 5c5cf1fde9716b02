/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of a cluster's problems: see api_fault.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/api/api_fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

#define CALL_AGAIN "call again, and if it repeats, run: toolhost doctor"
#define EVENTS     "see the cluster's own words: kubectl get events --namespace NAMESPACE"

static const struct {
    enum error_code code;
    const char *remedy;
} problems[API_PROBLEM_COUNT] = {
    [API_PROBLEM_NONE] = {ERROR_BACKEND_UNAVAILABLE, "run: toolhost doctor"},
    [API_PROBLEM_SILENT] = {ERROR_BACKEND_FAILED, CALL_AGAIN},
    [API_PROBLEM_ALTERED] =
        {ERROR_SANDBOX_UNAVAILABLE,
         "something in the cluster changes pods (an admission controller, a mutating webhook, a "
         "service mesh), so the run was refused: except the namespace of runs from it"},
    [API_PROBLEM_CONFIGURATION] =
        {ERROR_BACKEND_UNAVAILABLE,
         "name a kubeconfig in the policy's \"kubernetes.kubeconfig\" or in KUBECONFIG, or run the "
         "gateway in a pod with a service account; a file that kubectl reads and this backend "
         "does not: kubectl config view --raw --minify --flatten -o json > FILE"},
    [API_PROBLEM_CREDENTIALS] =
        {ERROR_BACKEND_UNAVAILABLE,
         "give the gateway an account of its own (deploy/kubernetes/access.yaml) and its token: "
         "kubectl create token gateway --namespace code-execute; programs that log in are not "
         "started"},
    [API_PROBLEM_UNREACHABLE] =
        {ERROR_BACKEND_UNAVAILABLE,
         "start the cluster or correct the server in the kubeconfig: kubectl cluster-info"},
    [API_PROBLEM_CERTIFICATES] =
        {ERROR_BACKEND_UNAVAILABLE,
         "the kubeconfig's certificate-authority must have signed the server's certificate, for "
         "the host of its address, and its client certificate must be valid still"},
    [API_PROBLEM_UNAUTHORIZED] =
        {ERROR_BACKEND_UNAVAILABLE,
         "the token or the certificate is not valid, or not any more: kubectl create token gateway "
         "--namespace code-execute"},
    [API_PROBLEM_FORBIDDEN] =
        {ERROR_BACKEND_UNAVAILABLE,
         "the gateway's account lacks the right that the message names: deploy/kubernetes/"
         "access.yaml has all that it needs (kubectl apply -k deploy/kubernetes), and "
         "deploy/kubernetes/agent-sandbox what a warm pool takes"},
    [API_PROBLEM_ADMISSION] =
        {ERROR_BACKEND_UNAVAILABLE,
         "a rule of the cluster does not admit the pod: change the rule for the namespace of runs "
         "(deploy/kubernetes), or the limits in the policy"},
    [API_PROBLEM_QUOTA] = {ERROR_TOO_MANY_REQUESTS,
                           "call again when other runs have ended, or raise the namespace's quota "
                           "(deploy/kubernetes/limits.yaml)"},
    [API_PROBLEM_BUSY] = {ERROR_TOO_MANY_REQUESTS, "call again: the cluster's server is busy"},
    [API_PROBLEM_REFUSED] = {ERROR_BACKEND_FAILED, EVENTS},
    [API_PROBLEM_NO_NAMESPACE] =
        {ERROR_BACKEND_UNAVAILABLE,
         "make the namespace (kubectl apply -k deploy/kubernetes) or name another in the policy's "
         "\"kubernetes.namespace\""},
    [API_PROBLEM_NO_IMAGE] =
        {ERROR_BACKEND_UNAVAILABLE,
         "check that the nodes reach the registry, and the digest in the policy's "
         "\"kubernetes.images\"; a registry that needs a login: \"kubernetes.pull_secret\""},
    [API_PROBLEM_NO_ROOM] = {ERROR_TOO_MANY_REQUESTS,
                             "call again later, or add nodes: kubectl describe nodes"},
    [API_PROBLEM_NOT_STARTED] =
        {ERROR_BACKEND_UNAVAILABLE,
         "the image must be made with its recipe (deploy/image), and the node must have the "
         "runtime class; " EVENTS},
    [API_PROBLEM_POD_GONE] = {ERROR_BACKEND_FAILED, CALL_AGAIN "; " EVENTS},
    [API_PROBLEM_TAKEN] = {ERROR_BACKEND_FAILED, CALL_AGAIN},
    [API_PROBLEM_GUEST] = {ERROR_SANDBOX_UNAVAILABLE,
                           "build the image again with this installation's guest (deploy/image), "
                           "and put its new digest into the policy's \"kubernetes.images\""},
    [API_PROBLEM_NETWORK] =
        {ERROR_SANDBOX_UNAVAILABLE,
         "apply deploy/kubernetes/network.yaml to the namespace of runs, in a cluster whose "
         "network plugin enforces NetworkPolicy (Calico, Cilium, Antrea, ...)"},
    [API_PROBLEM_NO_CLAIMS] =
        {ERROR_BACKEND_UNAVAILABLE,
         "install agent-sandbox with its extensions (extensions.agents.x-k8s.io/v1beta1) in the "
         "cluster, or take \"kubernetes.warm_pool\" out of the policy"},
    [API_PROBLEM_NO_POOL] = {ERROR_BACKEND_UNAVAILABLE,
                             "make the warm pool and its template in the namespace of runs "
                             "(deploy/kubernetes/agent-sandbox), or name another in the policy's "
                             "\"kubernetes.warm_pool\""},
    [API_PROBLEM_UNBOUND] =
        {ERROR_BACKEND_UNAVAILABLE,
         "check that agent-sandbox's controller runs, and that the pool has pods: kubectl describe "
         "sandboxwarmpools,sandboxes,pods --namespace NAMESPACE"},
    [API_PROBLEM_TEMPLATE] =
        {ERROR_SANDBOX_UNAVAILABLE,
         "write that member of the pool's template as deploy/kubernetes/agent-sandbox has it, for "
         "the policy's image and limits: sessions, and runs with endpoints or with other limits or "
         "images, need a policy without "
         "\"kubernetes.warm_pool\""},
};

bool api_fault_set(struct api_fault *fault, enum api_problem problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(fault->message, sizeof(fault->message), format, arguments) < 0)
        fault->message[0] = '\0';
    va_end(arguments);
    fault->problem = problem;
    fault->retry_after_ms = 0;
    return false;
}

enum run_failure api_fault_report(unsigned int problem, uint64_t retry_after_ms,
                                  struct run_event *event)
{
    unsigned int known = problem < API_PROBLEM_COUNT ? problem : API_PROBLEM_NONE;
    event->problem_code = problems[known].code;
    event->retry_after_ms =
        retry_after_ms < RUN_RETRY_AFTER_LIMIT ? retry_after_ms : RUN_RETRY_AFTER_LIMIT;
    (void)snprintf(event->remedy, sizeof(event->remedy), "%s", problems[known].remedy);
    return known == API_PROBLEM_NO_IMAGE ? RUN_FAILURE_IMAGE : RUN_FAILURE_BACKEND;
}
