# SPDX-License-Identifier: Apache-2.0
"""Pods by plan (scripted_pods.py) of which some wait for a run: what came to them is noted in its order. Their program prints "yes"."""
import contextlib
import socket

from scripted_pods import Pod, ScriptedPods

LABEL_STATE, LABEL_RUN = "code-execute.state", "code-execute.run"


class WaitingPod(Pod):
    """Each byte behind the call is told."""

    is_called = False

    def take_call(self):
        super().take_call()
        self.is_called = True
        if self.unread:
            self.heard()

    def heard(self):
        if self.is_called:
            self.fake.note("heard", self.name)


def says_yes(pod):
    pod.say("started")
    pod.print(b"yes\n")
    pod.finish()


class FakePods(ScriptedPods):
    """messages: (name of the pod, message) as they come. log: what happened in its order: ("claim", name) when the answer to a claim goes
    out, ("heard", name) when a guest gets the first byte of a run. streams: the pods whose guest has reported, by name."""

    kind = WaitingPod

    def __init__(self):
        super().__init__()
        self.messages, self.log, self.streams = [], [], {}
        self.program, self.before = says_yes, self.report

    def note(self, event, name):
        with self.lock:
            self.log.append((event, name))

    def report(self, pod):
        pod.report()
        with self.lock:
            self.streams[pod.name] = pod

    def take_message(self, pod):
        with self.lock:
            self.messages.append((pod.name, pod.told))
        super().take_message(pod)

    def waiting(self):
        """The names of the pods that wait for a run, whose guest says so."""
        with self.lock:
            return [name for name, pod in self.pods.items() if pod["metadata"]["labels"][LABEL_STATE] == "idle" and name in self.streams]

    def cut(self, name):
        """Its stream ends without a word."""
        with self.lock, contextlib.suppress(OSError):
            self.streams[name].stream.handler.connection.shutdown(socket.SHUT_RDWR)

    def delete_pod(self, handler, name, query, body):
        answer = super().delete_pod(handler, name, query, body)
        if name in self.streams and name not in self.pods:
            self.cut(name)
        return answer

    def answer(self, handler, code, body, headers=()):
        if handler.command == "PATCH":
            self.note("claim", handler.path.rpartition("/")[2])
        super().answer(handler, code, body, headers)
