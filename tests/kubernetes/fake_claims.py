# SPDX-License-Identifier: Apache-2.0
"""What agent-sandbox v0.5 does for a claim, and the broken answers that a test plans: a stand-in within the API server of fake_server.py.
A claim is bound at once, to a sandbox of the pool `warm`, whose pod runs already."""
import copy
import queue

from fake_server import END, FakeServer, status

CLAIMS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/runs/sandboxclaims"
SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/namespaces/runs/sandboxes"
BEGAN, CLAIMED = "2026-01-01T10:00:00Z", "2026-01-01T10:01:40Z"  # the pod had waited 100 s


def keeper(kind, group, uid):
    return [{"apiVersion": f"{group}/v1beta1", "kind": kind, "name": "it", "uid": uid, "controller": True}]


def pod_of_the_pool():
    """As deploy/kubernetes/agent-sandbox has it, for what pod_driver.c asks for."""
    limits = {"cpu": "2", "memory": "256M", "ephemeral-storage": "32Mi"}
    volumes = {"home": "2Mi", "tmp": "1Mi", "shm": "1048576"}
    return {
        "metadata": {"name": "warm-1", "uid": "uid-pod", "namespace": "runs", "labels": {"agents.x-k8s.io/sandbox-name-hash": "0"},
                     "ownerReferences": keeper("Sandbox", "agents.x-k8s.io", "uid-sandbox")},
        "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False,
            "enableServiceLinks": False, "hostname": "sandbox", "dnsPolicy": "None", "dnsConfig": {"nameservers": ["127.0.0.1"]}, "nodeName": "node-1",
            "serviceAccountName": "run", "serviceAccount": "run", "schedulerName": "default-scheduler",
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534,
                                "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}} for name, size in volumes.items()],
            "containers": [{
                "name": "run", "image": "registry.example/run@sha256:1", "imagePullPolicy": "IfNotPresent", "stdin": True,
                "stdinOnce": True, "command": ["/.code-execute-guest", "without-network"], "workingDir": "/home/sandbox", "terminationMessagePolicy": "File",
                "terminationMessagePath": "/dev/termination-log", "resources": {"limits": limits, "requests": {**limits, "cpu": "100m"}},
                "volumeMounts": [{"name": name, "mountPath": path} for name, path in
                                 (("home", "/home/sandbox"), ("tmp", "/tmp"), ("shm", "/dev/shm"))],
                "securityContext": {"privileged": False, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                    "capabilities": {"drop": ["ALL"]}}}]},
        "status": {"phase": "Running", "startTime": BEGAN, "containerStatuses": [{"name": "run", "state": {"running": {}}}]},
    }


def ready(value, reason, text=""):
    return {"type": "Ready", "status": value, "reason": reason, "message": text, "lastTransitionTime": CLAIMED}


class FakeClaims(FakeServer):
    """plan: also by ("POST", "claims"), ("GET", "claims"), ("GET", "claim watch"), ("GET", "claim"), ("DELETE", "claim") and
    ("GET", "sandbox")."""

    def __init__(self):
        super().__init__()
        self.claims, self.sandboxes, self.claim_watchers = {}, {}, []
        self.binds = True
        self.template = lambda pod: None  # what is otherwise in the operator's

    def __exit__(self, *arguments):
        for watcher in self.claim_watchers:
            watcher.put(END)
        super().__exit__(*arguments)

    def tell(self, kind, pod):
        """Watches are of pods with the label of an owner."""
        if "code-execute.owner" in pod["metadata"].get("labels", {}):
            super().tell(kind, pod)
        else:
            with self.lock:
                self.version += 1
                pod["metadata"]["resourceVersion"] = str(self.version)

    def get_list(self, *arguments):
        code, answer = super().get_list(*arguments)
        return code, {**answer, "items": [pod for pod in answer["items"] if "code-execute.owner" in pod["metadata"].get("labels", {})]}

    def place(self, path, query, command):
        if path.startswith(SANDBOXES + "/"):
            return "sandbox", path[len(SANDBOXES) + 1:]
        if path.startswith(CLAIMS):
            name = path[len(CLAIMS) + 1:]
            return "claim" if name else "claim watch" if query.get("watch") else "claims", name
        return super().place(path, query, command)

    def tell_claim(self, claim, kind="MODIFIED"):
        with self.lock:
            self.version += 1
            claim["metadata"]["resourceVersion"] = str(self.version)
            for watcher in self.claim_watchers:
                watcher.put({"type": kind, "object": copy.deepcopy(claim)})

    def claim(self):
        return next(iter(self.claims.values()))

    def say(self, *conditions, **members):
        self.claim()["status"] = {"conditions": list(conditions), **members}
        self.tell_claim(self.claim())

    def bind(self):
        """Gives the claim the pool's pod."""
        claim, pod = self.claim(), pod_of_the_pool()
        self.template(pod)
        self.pods[pod["metadata"]["name"]] = pod
        self.tell("ADDED", pod)
        self.sandboxes["warm-1"] = {"metadata": {"name": "warm-1", "uid": "uid-sandbox", "ownerReferences": keeper(
            "SandboxClaim", "extensions.agents.x-k8s.io", claim["metadata"]["uid"])}}
        self.say(ready("True", "DependenciesReady"), sandbox={"name": "warm-1"})

    def post_claims(self, _handler, _name, _query, body):
        with self.lock:
            name = body["metadata"]["name"]
            if name in self.claims:
                return status(409, "AlreadyExists", f'sandboxclaims "{name}" already exists')
            claim = copy.deepcopy(body)
            claim["metadata"].update(uid="uid-claim", creationTimestamp=CLAIMED)
            self.mutate(claim)
            self.claims[name] = claim
            self.tell_claim(claim, "ADDED")
            made = copy.deepcopy(claim)
            if self.binds:
                self.bind()
            return 201, made

    def get_claims(self, _handler, _name, _query, _body):
        return 200, {"kind": "SandboxClaimList", "metadata": {"resourceVersion": str(self.version)}, "items": list(self.claims.values())}

    def get_claim(self, _handler, name, _query, _body):
        return (200, self.claims[name]) if name in self.claims else status(404, "NotFound", f'sandboxclaims "{name}" not found')

    def get_sandbox(self, _handler, name, _query, _body):
        return (200, self.sandboxes[name]) if name in self.sandboxes else status(404, "NotFound", f'sandboxes "{name}" not found')

    def get_claim_watch(self, handler, _name, query, _body):
        events = queue.Queue()
        with self.lock:
            for claim in self.claims.values():
                if int(claim["metadata"]["resourceVersion"]) > int(query["resourceVersion"]):
                    events.put({"type": "MODIFIED", "object": copy.deepcopy(claim)})
            self.claim_watchers.append(events)
        self.stream(handler, events)

    def delete_claim(self, _handler, name, _query, body):
        with self.lock:
            claim = self.claims.get(name)
            if not claim:
                return status(404, "NotFound", f'sandboxclaims "{name}" not found')
            if body.get("preconditions", claim["metadata"])["uid"] != claim["metadata"]["uid"]:
                return status(409, "Conflict", "the UID in the precondition does not match")
            del self.claims[name]
            self.tell_claim(claim, "DELETED")
            return 200, {"kind": "Status", "status": "Success"}
