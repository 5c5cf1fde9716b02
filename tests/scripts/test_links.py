# SPDX-License-Identifier: Apache-2.0
"""The links of the READMEs and of docs/ lead somewhere."""
import pathlib
import tempfile

import links
import tap

TOP = pathlib.Path(__file__).parents[2]


def pages():
    readmes = (TOP / folder / "README.md" for folder in (".", "plugin", "policies"))
    return [page.relative_to(TOP) for page in (*readmes, *sorted((TOP / "docs").rglob("*.md")))]


def test_every_link_leads_to_a_file_and_a_heading():
    wrong, count = links.broken(TOP, pages())
    tap.equal(wrong, [], "links that lead nowhere")
    tap.true(count > 100, f"links were found: {count}")


def test_every_page_is_reached_from_the_readme():
    reached, new = set(), {pathlib.Path("README.md")}
    while new:
        reached |= new
        new = {target for page in new for target in links.pages_linked_from(TOP, page)} - reached
    tap.equal([str(page) for page in pages() if page not in reached], [], "pages that no link leads to")


def test_a_link_that_leads_nowhere_is_seen():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.md").write_text("# One `two`: three\n```\n# four\n[x](none.md)\n```\n"
                                   "[a](#one-two-three) [b](#four) [c](none.md) [d](b.md#five) [e](b.md) [f](https://none.example)\n")
        (root / "b.md").write_text("# six\n[up](../out.md)\n")
        tap.equal(links.broken(root, ["a.md", "b.md"]), (["a.md: #four", "a.md: none.md", "a.md: b.md#five", "b.md: ../out.md"], 6))


tap.run(globals())
