# SPDX-License-Identifier: Apache-2.0
"""The links of Markdown pages: to files that are there, and to headings that are there."""
import re

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def anchors(page):
    """What a page's headings can be named by, as GitHub makes it."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def pages_linked_from(root, page):
    """The pages below root that a page, a path below root, links to."""
    targets = (((root / page).parent / link.partition("#")[0]).resolve() for link in LINK.findall((root / page).read_text(encoding="utf-8")))
    return {target.relative_to(root.resolve()) for target in targets if target.suffix == ".md" and target.exists() and root.resolve() in target.parents}


def broken(root, pages):
    """Each link of the pages, paths below root, that leads nowhere or out of root; and how many links there are."""
    count, wrong = 0, []
    for page in pages:
        for link in LINK.findall(FENCE.sub("", (root / page).read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            path, _, anchor = link.partition("#")
            target = ((root / page).parent / path).resolve() if path else root / page
            if not target.exists() or (path and root.resolve() not in target.parents) or (anchor and anchor not in anchors(target)):
                wrong.append(f"{page}: {link}")
    return wrong, count
