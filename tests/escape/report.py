# SPDX-License-Identifier: Apache-2.0
"""What became of each attack, as one line and as docs/escape-report.md. A skip is never counted as stopped."""
import collections
import pathlib

import tap
from catalogue import SHOWN, natural

TITLE = """# Escape report

The programs of `tests/escape/` write this page with `--report`, one backend after the other; do not edit it. Each attack is one or more files
in `tests/escape/attacks/`. Canaries outside of the sandbox judge it. *Control* is the same payload with the responsible layers
removed. It must get through, or the attack proves nothing.
"""
HEAD = """
## Attacks on {backend} mode

{summary}.

| number | attack | languages | layers that stop it | result | control |
|---|---|---|---|---|---|
"""


def append_text(path, text):
    """A page of its own begins with the title."""
    path = pathlib.Path(path)
    with path.open("a") as file:
        file.write(("" if path.exists() and path.stat().st_size else TITLE) + text)


def append_table(path, head, rows, summary):
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows]
    append_text(path, head + "".join(lines) + f"\n{summary}.\n")


NOT_STOPPED = "not stopped: "


class Report:
    def __init__(self, backend):
        self.backend, self.escaped = backend, 0
        self.rows = collections.OrderedDict()

    def note(self, attack, part, run):
        row = self.rows.setdefault(attack.entry, {"attack": attack, "languages": [], "attack results": [], "control results": []})
        if part == "attack":
            row["languages"].append(SHOWN[attack.path.suffix])
        results = row[part + " results"]
        try:
            run()
            results.append("stopped" if part == "attack" else "gets through")
        except tap.Skip as reason:
            results.append(str(reason) if str(reason).startswith(NOT_STOPPED) else f"skipped: {reason}")
            raise
        except BaseException:
            results.append("FAILED")
            raise

    def skipped(self):
        return sum(result.startswith("skipped") for row in self.rows.values()
                   for part in ("attack results", "control results") for result in row[part])

    def summary(self, runs):
        tried = sum(any(not result.startswith("skipped") for result in row["attack results"]) for row in self.rows.values())
        known = sum(result.startswith(NOT_STOPPED) for row in self.rows.values() for result in row["attack results"])
        return (f"{tried} attacks, {runs} runs, {self.escaped} escaped, " + (f"{known} not stopped and said so, " if known else "")
                + f"{self.skipped()} skipped")

    def text(self, runs):
        lines = [HEAD.format(backend=self.backend, summary=self.summary(runs))]
        for row in sorted(self.rows.values(), key=lambda row: natural(row["attack"].path)):
            fields = row["attack"].fields
            cells = [fields["attack"], fields["title"], ", ".join(row["languages"]), fields["layers"],
                     "; ".join(dict.fromkeys(row["attack results"])), "; ".join(dict.fromkeys(row["control results"]))]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
        return "".join(lines)
