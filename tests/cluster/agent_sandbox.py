# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the controller of agent-sandbox, which cannot be had where only Go's module proxy is reached: warm pools, sandboxes and
claims on the real API server of scripts/with-cluster, as v0.5.6 treats them as far as a gateway sees it. Its definitions have the members
that are used here. It is this process's thread, with the administrator's rights; garbage is collected by the real controller manager."""
import contextlib
import datetime
import json
import secrets
import threading

from api_server import Server, kubectl

CORE, EXTENSIONS = "agents.x-k8s.io", "extensions.agents.x-k8s.io"
PAUSE_S = 0.2
MERGE = "application/merge-patch+json"


def text(**more):
    return {"type": "string", **more}


def thing(required=(), **members):
    return {"type": "object", "properties": members, **({"required": list(required)} if required else {})}


ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXTS = {"type": "object", "additionalProperties": text()}
REFERENCE = thing(["name"], name=text())
CONDITIONS = {"type": "array", "items": thing(["type", "status", "reason"], type=text(), status=text(enum=["True", "False", "Unknown"]),
                                              reason=text(), message=text(), lastTransitionTime=text(format="date-time"))}
POD_TEMPLATE = thing(["spec"], metadata=thing(labels=TEXTS, annotations=TEXTS), spec=ANYTHING)
KINDS = {
    "Sandbox": (CORE, thing(["podTemplate"], podTemplate=POD_TEMPLATE), thing(conditions=CONDITIONS)),
    "SandboxTemplate": (EXTENSIONS, thing(["podTemplate"], podTemplate=POD_TEMPLATE, networkPolicy=ANYTHING), None),
    "SandboxWarmPool": (EXTENSIONS, thing(["sandboxTemplateRef"], replicas={"type": "integer", "minimum": 0, "default": 1},
                                          sandboxTemplateRef=REFERENCE, updateStrategy=thing(type=text())), None),
    "SandboxClaim": (EXTENSIONS, thing(
        ["warmPoolRef"], warmPoolRef=REFERENCE,
        lifecycle=thing(shutdownTime=text(format="date-time"), ttlSecondsAfterFinished={"type": "integer", "minimum": 0},
                        shutdownPolicy=text(enum=["Delete", "DeleteForeground", "Retain"], default="Retain")),
        env={"type": "array", "items": ANYTHING}),
        thing(conditions=CONDITIONS, sandbox=thing(name=text(), podIPs={"type": "array", "items": text()}))),
}


def plural(kind):
    return kind.lower() + ("es" if kind.endswith("x") else "s")


def definition(kind):
    group, spec, status = KINDS[kind]
    members = {"spec": spec, **({"status": status} if status else {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural(kind)}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural(kind), "singular": kind.lower()},
                 "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": thing(**members)},
                               "subresources": {"status": {}} if status else {}}]}}


def install():
    """The definitions alone."""
    kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [definition(kind) for kind in KINDS]}))
    kubectl("wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{plural(kind)}.{KINDS[kind][0]}" for kind in KINDS))


def remove():
    """With all that there is of them; the pods of sandboxes go as well."""
    kubectl("delete", "--ignore-not-found", *(f"crd/{plural(kind)}.{KINDS[kind][0]}" for kind in KINDS))


def condition(kind, status, reason, message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}


def keeper(owner, kind):
    """As what it keeps has it in its metadata."""
    return [{"apiVersion": f"{KINDS[kind][0]}/v1beta1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
             "controller": True, "blockOwnerDeletion": True}]


def keeper_of(kept):
    return next((owner["uid"] for owner in kept["metadata"].get("ownerReferences", []) if owner.get("controller")), None)


class Controller:
    """hurry_s: so far its clock is ahead. works: it answers claims."""

    def __init__(self, namespace):
        self.server, self.namespace = Server(), namespace
        self.hurry_s, self.works = 0, True
        self.stops = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stops.set()
        self.thread.join()

    def place(self, kind, name=""):
        base = f"/apis/{KINDS[kind][0]}/v1beta1" if kind in KINDS else "/api/v1"
        return f"{base}/namespaces/{self.namespace}/{plural(kind)}{'/' if name else ''}{name}"

    def all(self, kind):
        code, answer = self.server.ask("GET", self.place(kind))
        assert code == 200, answer
        return answer["items"]

    def serve(self):
        while not self.stops.wait(PAUSE_S):
            with contextlib.suppress(OSError):
                self.reconcile()

    def reconcile(self):
        pods = {keeper_of(pod): pod for pod in self.all("Pod")}
        sandboxes = [sandbox for sandbox in self.all("Sandbox") if "deletionTimestamp" not in sandbox["metadata"]]
        claims = [claim for claim in self.all("SandboxClaim") if "deletionTimestamp" not in claim["metadata"]]
        pools = {pool["metadata"]["name"]: pool for pool in self.all("SandboxWarmPool")}
        templates = {template["metadata"]["name"]: template for template in self.all("SandboxTemplate")}
        kept = {keeper_of(sandbox) for sandbox in sandboxes}
        for sandbox in sandboxes:
            if sandbox["metadata"]["uid"] not in pods:
                self.make_pod(sandbox)
        for claim in claims if self.works else []:
            if claim["metadata"]["uid"] in kept:
                [own] = [sandbox for sandbox in sandboxes if keeper_of(sandbox) == claim["metadata"]["uid"]]
                self.tell(claim, own, pods.get(own["metadata"]["uid"]))
            else:
                self.answer(claim, pools.get(claim["spec"]["warmPoolRef"]["name"]), templates, sandboxes, pods)
            self.expire(claim)
        for pool in pools.values():
            self.fill(pool, templates.get(pool["spec"]["sandboxTemplateRef"]["name"]), sandboxes)

    def say(self, claim, *conditions, **members):
        status = {"conditions": list(conditions), **members}
        if claim.get("status") != status:
            self.server.ask("PATCH", self.place("SandboxClaim", claim["metadata"]["name"]) + "/status", {"status": status}, MERGE)

    def answer(self, claim, pool, templates, sandboxes, pods):
        if not pool:
            name = claim["spec"]["warmPoolRef"]["name"]
            self.say(claim, condition("Ready", "False", "WarmPoolNotFound", f'SandboxWarmPool "{name}" not found'))
        elif pool["spec"]["sandboxTemplateRef"]["name"] not in templates:
            self.say(claim, condition("Ready", "False", "TemplateNotFound"))
        else:
            waiting = [sandbox for sandbox in sandboxes if keeper_of(sandbox) == pool["metadata"]["uid"]]
            ready = [sandbox for sandbox in waiting if is_ready(pods.get(sandbox["metadata"]["uid"]))]
            if not ready or not self.adopt(claim, ready[0]):
                self.say(claim, condition("Ready", "False", "SandboxMissing", "Sandbox does not exist"))

    def adopt(self, claim, sandbox):
        """Only where nobody has changed it since: one of many claims wins."""
        name, version = sandbox["metadata"]["name"], sandbox["metadata"]["resourceVersion"]
        code, _ = self.server.ask("PATCH", self.place("Sandbox", name), {"metadata": {
            "resourceVersion": version, "ownerReferences": keeper(claim, "SandboxClaim"), "annotations": {f"{CORE}/pod-name": name},
            "labels": {f"{CORE}/claim-uid": claim["metadata"]["uid"], f"{CORE}/warm-pool-sandbox": None}}}, MERGE)
        sandbox["metadata"]["ownerReferences"] = keeper(claim, "SandboxClaim")  # no other claim of this round gets it
        return code == 200

    def tell(self, claim, sandbox, pod):
        phase = pod and pod["status"].get("phase")
        addresses = pod["status"].get("podIPs", []) if pod else []
        members = {"sandbox": {"name": sandbox["metadata"]["name"], "podIPs": [part["ip"] for part in addresses]}}
        if phase in ("Succeeded", "Failed"):
            self.say(claim, condition("Ready", "False", f"Pod{phase}"), condition("Finished", "True", f"Pod{phase}"), **members)
        elif is_ready(pod):
            self.say(claim, condition("Ready", "True", "DependenciesReady"), **members)
        else:
            self.say(claim, condition("Ready", "False", "DependenciesNotReady"), **members)

    def expire(self, claim):
        lifecycle = claim["spec"].get("lifecycle", {})
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.hurry_s)
        finished = any(part["type"] == "Finished" for part in claim.get("status", {}).get("conditions", []))
        passed = "shutdownTime" in lifecycle and now > datetime.datetime.fromisoformat(lifecycle["shutdownTime"].replace("Z", "+00:00"))
        done = finished and self.hurry_s >= lifecycle.get("ttlSecondsAfterFinished", float("inf"))
        if (passed or done) and lifecycle["shutdownPolicy"] == "Delete":
            self.server.ask("DELETE", self.place("SandboxClaim", claim["metadata"]["name"]))

    def fill(self, pool, template, sandboxes):
        there = sum(keeper_of(sandbox) == pool["metadata"]["uid"] for sandbox in sandboxes)
        for _ in range(pool["spec"]["replicas"] - there if template else 0):
            name = f"{pool['metadata']['name']}-{secrets.token_hex(3)}"
            self.server.ask("POST", self.place("Sandbox"), {
                "apiVersion": f"{CORE}/v1beta1", "kind": "Sandbox",
                "metadata": {"name": name, "labels": {f"{CORE}/warm-pool-sandbox": "0"},
                             "ownerReferences": keeper(pool, "SandboxWarmPool")},
                "spec": {"podTemplate": template["spec"]["podTemplate"]}})

    def make_pod(self, sandbox):
        template = sandbox["spec"]["podTemplate"]
        name = sandbox["metadata"]["name"]
        self.server.ask("POST", self.place("Pod"), {
            "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"name": name, "ownerReferences": keeper(sandbox, "Sandbox"),
                         "labels": {**template.get("metadata", {}).get("labels", {}), f"{CORE}/sandbox-name-hash": name[-6:]}}})


def is_ready(pod):
    return bool(pod) and "deletionTimestamp" not in pod["metadata"] and any(
        part["type"] == "Ready" and part["status"] == "True" for part in pod["status"].get("conditions", []))
