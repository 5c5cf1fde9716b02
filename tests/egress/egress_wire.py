# SPDX-License-Identifier: Apache-2.0
"""The messages between plugin and broker of endpoints, as protocol/orders/egress_order.h and egress_event.h have them."""
import pathlib
import re
import struct

PROTOCOL_VERSION = int(re.search(r"#define PROTOCOL_VERSION +(\d+)", (pathlib.Path(__file__).parents[2] / "plugin/protocol/run_event.h").read_text())[1])
AUTHS = ("none", "bearer", "basic", "header", "query")
EVENTS = (None, "ready", "refused", "record", "closed")
DECISIONS = ("allowed", "denied", "budget_exhausted", "failed")
LIMITS = {"requests": 1000, "request_bytes": 1 << 20, "response_bytes": 16 << 20, "timeout_ms": 20000, "in_flight": 8}


def u32(number):
    return struct.pack("<I", number)


def u64(number):
    return struct.pack("<Q", number)


def blob(content):
    content = content.encode() if isinstance(content, str) else content
    return u32(len(content)) + content


def texts(strings):
    return u32(len(strings)) + b"".join(blob(string) for string in strings)


def rule(methods, paths):
    return {"methods": methods, "paths": paths}


def encode_endpoint(endpoint):
    limits = {**LIMITS, **endpoint.get("limits", {})}
    rules = endpoint.get("rules", [])
    message = blob(endpoint["name"]) + blob(endpoint["base_url"]) + u32(endpoint.get("tunnel", 0))
    message += u32(AUTHS.index(endpoint.get("auth", "none")))
    message += blob(endpoint.get("auth_name", "")) + blob(endpoint.get("auth_prefix", "")) + blob(endpoint.get("credential", b""))
    for name in ("request_headers", "response_headers", "headers"):
        message += texts(endpoint.get(name, []))
    message += b"".join(u64(limits[name]) for name in LIMITS)
    message += u32(endpoint.get("private", 0)) + blob(endpoint.get("ca", b"")) + u32(len(rules))
    return message + b"".join(texts(part["methods"]) + texts(part["paths"]) for part in rules)


def encode_order(endpoints, run_id="0" * 32, principal="alice", session=0):
    message = u32(PROTOCOL_VERSION) + blob(run_id) + blob(principal) + u32(session) + u32(len(endpoints))
    return message + b"".join(encode_endpoint(endpoint) for endpoint in endpoints)


class Reader:
    def __init__(self, message):
        self.message, self.offset = message, 0

    def number(self, form="<I"):
        number, = struct.unpack_from(form, self.message, self.offset)
        self.offset += struct.calcsize(form)
        return number

    def text(self):
        length = self.number()
        self.offset += length
        return self.message[self.offset - length:self.offset].decode()


def decode_event(message):
    reader = Reader(message)
    assert reader.number() == PROTOCOL_VERSION
    event = {"type": EVENTS[reader.number()], "text": reader.text()}
    record = {"endpoint": reader.number(), "method": reader.text(), "path": reader.text(), "query_sha256": reader.text(),
              "status": reader.number(), "decision": DECISIONS[reader.number()], "reason": reader.text()}
    for name in ("bytes_in", "bytes_out", "duration_ms"):
        record[name] = reader.number("<Q")
    totals = {name: reader.number("<Q") for name in ("requests", "denied", "omitted", "bytes_in", "bytes_out", "between")}
    assert reader.offset == len(message)
    return {**event, "record": record, "totals": totals}
