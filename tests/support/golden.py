# SPDX-License-Identifier: Apache-2.0
"""Exact results: a case's JSON must equal expected/CASE.json beside its test, and must fit the manifest's output schema. What
differs from run to run (ids, times, usage) is replaced by its type first. One file serves every mode: what a mode cannot tell,
or does otherwise, is in DIFFERENCES with the reason, and is compared as exactly.

UPDATE_EXPECTED=1 in process mode writes the files anew, to be read before they are committed.
"""
import json
import os
import pathlib

import engine
import gvisor
import modes
import tap

VOLATILE = {"run_id": "<id>", "duration_ms": "<ms>", "id": "<id>", "request_sha256": "<sha256>", "policy_sha256": "<sha256>",
            "wall_ms": "<ms>", "user_ms": "<ms>", "system_ms": "<ms>", "peak_memory_bytes": "<bytes>",
            "outer_uid": "<uid>", "landlock_abi": "<n>", "cgroup_version": "<n>", "cgroup_memory": "<bool>",
            "cgroup_pids": "<bool>", "seccomp_instructions": "<n>", "engine_version": "<version>", "engine_api": "<version>",
            "runtime": "<name>", "runtime_version": "<version>", "rootless": "<bool>", "image_id": "<id>",
            "output_bytes": "<bytes>", "supervised": "<limits>"}
SHIPPED_MS = 10000  # limit of wall clock and processor time
# Optional layers are as the machine has them; what the host lacks is the subject of other tests.
OPTIONAL_LAYERS = {"cgroup", "landlock", "proc", *(["cgroup_namespace"] if gvisor.ON_GVISOR else [])}
EVERY = None


def without_user_namespace(isolation):
    if "user_namespace" not in isolation["applied"]:
        return isolation
    applied = [layer for layer in isolation["applied"] if layer != "user_namespace"]
    return {**isolation, "applied": applied, "missing": ["user_namespace", *isolation["missing"]]}


def of_an_engine(details):
    own = {name: details[name] for name in ("landlock_abi", "cgroup_version", "cgroup_memory", "cgroup_pids", "network") if name in details}
    told = modes.RUNTIME in (None, engine.default_runtime())  # of another runtime an engine tells no version
    return own and {**own, "engine": "docker", "engine_version": "<version>", "engine_api": "<version>", "runtime": "<name>",
                    "runtime_version": "<version>" if told else None, "kernel": "gVisor" if gvisor.ON_GVISOR else "Linux", "rootless": "<bool>",
                    "user_namespace": engine.has_user_namespaces(), "image": engine.IMAGE, "image_id": "<id>"}


def without_namespaces(isolation):
    own = ["capabilities", "resource_limits", "no_new_privileges", "seccomp"]
    details = {name: value for name, value in isolation["details"].items() if name != "outer_uid"}
    return {**isolation, "applied": own if isolation["applied"] else [],
            "missing": [layer for layer in isolation["applied"] if layer not in own],
            "details": details and {**details, "supervised": "<limits>"}}


# mode: (cases, path of the member, what it is there: a value, or a function of the file's; why)
DIFFERENCES = {
    "process": lambda: (),
    "unprivileged": lambda: (
        (EVERY, "isolation", without_namespaces, "its layers are those that need no namespace"),
    ),
    "docker": lambda: (
        (EVERY, "isolation.details", of_an_engine, "each mode has facts of its own"),
        (EVERY, "isolation", (lambda same: same) if engine.has_user_namespaces() else without_user_namespace,
         "a user namespace is the engine's to give"),
        ({"process_limit"}, "cause", "exit", "a fork that a container's limit refuses is counted where an engine does not look"),
        ({"process_limit"}, "notes", [], "the same"),
        ({"disk_full"}, "cause", "exit", "what is left of a container's file systems is not looked at"),
        ({"disk_full"}, "notes", [], "the same"),
        ({"forbidden_syscall"}, "error.message", "forbidden system call", "an engine does not tell which one it was"),
        ({"runtime_missing"}, "error.hint", f"the image {engine.IMAGE} does not have it, and a run downloads nothing: use another "
         "language, or give this one another image in the policy's \"docker.images\"", "the remedy is another"),
    ),
}[modes.MODE]()


def stable(value, name=None, in_limits=False):
    if name == "usage" and value["peak_memory_bytes"] == 0:
        return value  # nothing ran: all of it is 0
    if isinstance(value, dict):
        return {key: stable(member, key, name == "limits") for key, member in value.items()}
    if isinstance(value, list) and name not in VOLATILE:
        return [stable(member) for member in value if isinstance(member, dict) or member not in OPTIONAL_LAYERS]
    if name == "mode" and value == modes.MODE:
        return "<mode>"
    if name == "processes" and not in_limits:
        return "<n>"  # null before Linux 6.11, and in docker mode
    if in_limits and tap.SLOW > 1 and value == modes.ALL_THE_TIME["limits"].get(name, {}).get("default"):
        return SHIPPED_MS  # the file has it
    if name == "file" and isinstance(value, str):
        return modes.at_home(value)
    if name in VOLATILE and value is not None and not in_limits:
        return VOLATILE[name]
    return value


def in_this_mode(case, expected):
    """The file's result as the suite's mode gives it."""
    for cases, path, there, why in DIFFERENCES:
        if cases is not EVERY and case not in cases:
            continue
        *parents, name = path.split(".")
        holder = expected
        for parent in parents:
            holder = holder[parent]
        before = holder[name]
        holder[name] = there(before) if callable(there) else there
        tap.true(cases is EVERY or holder[name] != before, f"{case}: {path} does not differ any more ({why})")
    for name, layers in (expected["isolation"] or {}).items():
        if isinstance(layers, list):
            expected["isolation"][name] = [layer for layer in layers if layer not in OPTIONAL_LAYERS]
    return expected


def check(provider, file, code, result):
    """The result of tool_invoke() must be that return code and the file's result."""
    return_code, output = result
    tap.equal(return_code, code, f"return code, {output['error']}")
    fits_schema(provider, output)
    seen = stable(output)
    if os.environ.get("UPDATE_EXPECTED") and modes.MODE == "process":
        file.write_text(json.dumps(seen, indent=2) + "\n")
    expected = in_this_mode(file.stem, json.loads(file.read_text())) if file.exists() else None
    tap.equal(json.dumps(seen, indent=2) + "\n", json.dumps(expected, indent=2) + "\n", f"result of {file.stem}")
    return output


def checker(provider, test_file):
    """check() with the folder beside the test."""
    folder = pathlib.Path(test_file).parent / "expected"
    return lambda case, code, result: check(provider, folder / f"{case}.json", code, result)


def fits_schema(provider, output):
    schema = provider.manifest()["tools"][0]["output_schema"]
    try:
        import jsonschema
    except ImportError as missing:
        raise AssertionError("python3-jsonschema is needed (scripts/install-packages check)") from missing
    jsonschema.Draft202012Validator(schema).validate(output)
