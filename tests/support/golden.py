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
import modes
import tap

VOLATILE = {"run_id": "<id>", "duration_ms": "<ms>", "id": "<id>", "request_sha256": "<sha256>",
            "wall_ms": "<ms>", "user_ms": "<ms>", "system_ms": "<ms>", "peak_memory_bytes": "<bytes>",
            "outer_uid": "<uid>", "landlock_abi": "<n>", "cgroup_version": "<n>", "cgroup_memory": "<bool>",
            "cgroup_pids": "<bool>", "seccomp_instructions": "<n>", "engine": "<name>", "engine_version": "<version>",
            "engine_api": "<version>", "runtime": "<name>", "runtime_version": "<version>", "rootless": "<bool>",
            "user_namespace": "<bool>", "output_bytes": "<bytes>", "image": "<name>", "image_id": "<id>"}
# Optional layers are as the machine has them; what the host lacks is the subject of other tests.
OPTIONAL_LAYERS = {"cgroup", "landlock", "proc"}
EVERY = None


def without_user_namespace(isolation):
    if "user_namespace" not in isolation["applied"]:
        return isolation
    applied = [layer for layer in isolation["applied"] if layer != "user_namespace"]
    return {**isolation, "applied": applied, "missing": ["user_namespace", *isolation["missing"]]}


def without_figures(usage):
    """Where nothing ran, there is nothing to measure in any mode."""
    return usage if usage["peak_memory_bytes"] == 0 else {**usage, **dict.fromkeys(FIGURES)}


def docker_details(details):
    return details and {name: VOLATILE.get(name, False) for name in DOCKER_DETAILS}


FIGURES = ("user_ms", "system_ms", "peak_memory_bytes")
DOCKER_DETAILS = ("cgroup_version", "cgroup_memory", "cgroup_pids", "network", "engine", "engine_version", "engine_api", "runtime",
                  "runtime_version", "rootless", "user_namespace", "image", "image_id")
IMAGE_HINT = (f"the image {engine.IMAGE} does not have it, and a run fetches nothing: use another language, or give this one another "
              "image in the policy's \"docker.images\"")
# mode: (cases, path of the member, what it is there: a value, or a function of the file's; why)
DIFFERENCES = {
    "process": (),
    "docker": (
        (EVERY, "usage", without_figures, "an engine tells no processor time and no peak of a container that has ended"),
        (EVERY, "isolation.details", docker_details, "another backend has other facts to tell"),
        ({"process_limit"}, "cause", "exit", "a fork that a container's limit refuses is counted where an engine does not look"),
        ({"process_limit"}, "notes", [], "the same"),
        ({"disk_full"}, "cause", "exit", "what is left of a container's file systems is not looked at"),
        ({"disk_full"}, "notes", [], "the same"),
        ({"forbidden_syscall"}, "error.message", "forbidden system call", "an engine does not tell which one it was"),
        ({"runtime_missing"}, "error.hint", IMAGE_HINT, "what is missing is missing in the image, not on the gateway's machine"),
        *(() if engine.has_user_namespaces() else (
            (EVERY, "isolation", without_user_namespace, "a user namespace is the engine's to give, and this one has none"),)),
    ) if modes.MODE == "docker" else (),
}


def stable(value, name=None, in_limits=False):
    if isinstance(value, dict):
        return {key: stable(member, key, name == "limits") for key, member in value.items()}
    if isinstance(value, list):
        return [stable(member) for member in value if member not in OPTIONAL_LAYERS]
    if name == "mode" and value == modes.MODE:
        return "<mode>"
    if name == "peak_memory_bytes" and value == 0:
        return 0  # where nothing ran; a program always needs some
    if name == "processes" and not in_limits:
        return "<n>"  # null before Linux 6.11
    if name in VOLATILE and value is not None and not in_limits:
        return VOLATILE[name]
    return value


def in_this_mode(case, expected):
    """The file's result as the suite's mode gives it."""
    for cases, path, there, why in DIFFERENCES[modes.MODE]:
        if cases is not EVERY and case not in cases:
            continue
        *parents, name = path.split(".")
        holder = expected
        for parent in parents:
            holder = holder[parent]
        before = holder[name]
        holder[name] = there(before) if callable(there) else there
        tap.true(cases is EVERY or holder[name] != before, f"{case}: {path} does not differ any more ({why})")
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
