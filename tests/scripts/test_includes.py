# SPDX-License-Identifier: Apache-2.0
"""scripts/check-includes on the product's sources, and on a copy of them with an include that must not be, or with a folder of too many
files."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import tap

TOP = pathlib.Path(__file__).resolve().parents[2]
CHECK = TOP / "scripts" / "check-includes"
COPIED = tempfile.TemporaryDirectory()
COPY = pathlib.Path(COPIED.name)
for source in (path for area in ("abi", "plugin", "host-shim") for path in (TOP / area).rglob("*.[ch]")):
    (COPY / source.relative_to(TOP)).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, COPY / source.relative_to(TOP))


def says(**planted):
    """The exit status and the output for the copy of the sources; planted: by path, what that file includes as well."""
    before = {path: (COPY / path).read_text(encoding="utf-8") for path in planted}
    for path, name in planted.items():
        (COPY / path).write_text(f'{before[path]}#include "{name}"\n', encoding="utf-8")
    done = subprocess.run([CHECK, COPY], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for path, text in before.items():
        (COPY / path).write_text(text, encoding="utf-8")
    return done.returncode, done.stdout


def refused(path, name, expected):
    status, said = says(**{path: name})
    tap.equal((status, said.splitlines()), (1, [expected]), f"{path} includes {name}")


def test_the_tree_as_it_is():
    status, said = says()
    tap.equal(status, 0, said)
    tap.true(re.fullmatch(r"\d{3,} files in \d{2,} folders\n", said), said)


def test_a_planted_include_against_the_direction():
    refused("host-shim/cli/main.c", "../../plugin/json/canonical.h",
            "host-shim/cli/main.c: includes plugin/json/canonical.h, and host-shim must not depend on plugin/json")
    refused("host-shim/base/failure.h", "tool_provider.h",
            "host-shim/base/failure.h: includes abi/tool_provider.h, and host-shim/base must not depend on abi")
    refused("host-shim/mcp/wire/json_rpc.c", "audit/audit_log.h",
            "host-shim/mcp/wire/json_rpc.c: includes host-shim/audit/audit_log.h, and host-shim/mcp/wire must not depend on host-shim")
    refused("plugin/base/error.h", "tool_provider.h",
            "plugin/base/error.h: includes abi/tool_provider.h, and plugin/base must not depend on abi")
    refused("abi/base/cleanup.h", "../tool_provider.h",
            "abi/base/cleanup.h: includes abi/tool_provider.h, and abi/base must not depend on abi")
    refused("abi/tool_provider.h", "base/cleanup.h",
            "abi/tool_provider.h: includes abi/base/cleanup.h, and abi must not depend on abi/base")


def test_planted_includes_against_the_direction_between_folders_of_a_backend():
    planted = {"backends/docker/engine/engine.c": "backends/process/sandbox/sandbox.h",
               "backends/docker/engine/engine.h": "backends/docker/run/sweep.h",
               "backends/docker/container/docker_container.c": "backends/docker/run/docker_run.h",
               "backends/guest_runs/container/container.c": "backends/guest_runs/run/run.h",
               "backends/guest_runs/run/run.c": "backends/docker/engine/engine.h",
               "backends/common/run_answer.c": "backends/docker/engine/engine.h",
               "backends/process/sandbox/sandbox_init.c": "backends/process/supervisor/filter/seccomp_filter.h",
               "backends/process/program/program.c": "backends/process/sandbox/sandbox.h",
               "backends/process/supervisor/launch/launch.c": "backends/process/supervisor/pool/pool.h",
               "backends/process/python/fork_server.c": "backends/process/supervisor/launch/launch.h"}
    status, said = says(**{f"plugin/{path}": name for path, name in planted.items()})
    tap.equal(status, 1, said)
    for path, name in planted.items():
        folder, other = (f"plugin/{file}".rpartition("/")[0] for file in (path, name))
        tap.contains(said, f"plugin/{path}: includes plugin/{name}, and {folder} must not depend on {other}\n")


def test_a_planted_cycle():
    for path, name, target in (("host-shim/audit/audit_log.c", "options/options.h", "host-shim/options/options.h"),
                               ("host-shim/mcp/result/envelope.c", "mcp/server.h", "host-shim/mcp/server.h"),
                               ("plugin/json/json_text.c", "vocabulary/handle.h", "plugin/vocabulary/handle.h")):
        status, said = says(**{path: name})
        tap.equal(status, 1, path)
        tap.contains(said, f"cycle: {path} includes {target}\n")
        tap.equal(said.count("cycle: "), 2, said)


def test_an_include_that_leads_nowhere():
    refused("plugin/gate/gate.c", "no_such.h", "plugin/gate/gate.c: no_such.h is not in the tree")


def planted_files(planted):
    """What is said of the copy with further files; planted: by folder, their names."""
    paths = [COPY / folder / name for folder, names in planted.items() for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    status, said = says()
    for path in paths:
        path.unlink()
    return status, said.splitlines()


def test_folders_with_too_many_files():
    parts = [f"part_{number}" for number in range(31)]
    planted = {"plugin/gate/crowded": [f"{part}.h" for part in parts], "scripts/crowded": parts,
               "tests/crowded": [f"{part}.py" for part in parts]}
    tap.equal(planted_files(planted), (1, [f"{folder}: 31 files, and a folder has at most 30" for folder in planted]))
    planted = {folder: [*names[1:], "meson.build", "README.md"] for folder, names in planted.items()}
    tap.equal(planted_files({**planted, "tests/escape/attacks": parts, "tests/fuzz/corpus/request": parts})[0], 0, "30, attacks and seeds")


tap.run(globals())
