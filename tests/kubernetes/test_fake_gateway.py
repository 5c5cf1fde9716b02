# SPDX-License-Identifier: Apache-2.0
"""A gateway whose cluster's API server misbehaves by plan: what becomes of its words on their way to the call's result."""
import tap
from fake_server import FakeServer, status
from provider import OK, Host, Provider

IMAGE = "run@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
provider = Provider()


def calls(fake, count):
    policy = {"modes": {"default": "kubernetes", "allowed": ["kubernetes"]}, "approval": {"default": "allow"},
              "kubernetes": {"kubeconfig": str(fake.kubeconfig), "images": IMAGE}}
    tap.equal(provider.use_policy(policy), OK, "prepare")
    try:
        return [provider.invoke({"language": "python", "code": "print(1)"}, Host(("sandbox.exec",)))[1] for _ in range(count)]
    finally:
        provider.reset()


def call(fake):
    return calls(fake, 1)[0]


def test_an_account_without_rights_is_told_the_same_each_time():
    """What was never made is not removed: the refusal of that would be the next answer."""
    def forbidden(verb):
        return lambda _: status(403, "Forbidden", f'pods is forbidden: User "x" cannot {verb} resource "pods" in API group ""')
    with FakeServer() as fake:
        fake.plan = {("POST", "pods"): [forbidden("create")] * 9, ("DELETE", "pod"): [forbidden("delete")] * 999}
        for result in calls(fake, 2):
            tap.equal((result["status"], result["error"]["code"]), ("error", "backend_unavailable"), result)
            tap.contains(result["error"]["message"], 'may not "create pods"')
            tap.contains(result["error"]["hint"], "deploy/kubernetes/access.yaml")
        tap.equal((len(fake.seen("POST", "pods")), fake.seen("DELETE", "pod")), (2, []), "makings and removals")


def test_a_busy_server_says_when_to_come_again():
    for answer, retry_after_ms in (((429, b"", {"Retry-After": "60"}), 60000), ((503, b"", {"Retry-After": "120"}), 120000)):
        with FakeServer() as fake:
            fake.plan["GET", "version"] = [lambda handler, answer=answer: answer]  # the first question
            result = call(fake)
            tap.equal((result["status"], result["error"]["code"], result["error"]["retryable"], result["error"]["retry_after_ms"]),
                      ("error", "too_many_requests", True, retry_after_ms), result)
            tap.equal(len(fake.requests), 1, "requests")


def test_a_quota_that_is_used_up_has_no_time():
    with FakeServer() as fake:
        refusal = status(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: runs, requested: pods=1, used: pods=100, limited: pods=100')
        fake.plan["GET", "version"] = [lambda handler: refusal]
        result = call(fake)
        tap.equal((result["error"]["code"], result["error"]["retry_after_ms"]), ("too_many_requests", None), result)


tap.run(globals())
