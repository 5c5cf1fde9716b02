# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp: files that a model names, and files and results as a client gets them."""

import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

import tap
from client import CODE_EXECUTE, HANDSHAKE, McpTest, meta

PROVIDER = os.environ["FILE_PROVIDER"]


class FilesTest(McpTest):
    def called(self, wire, code=None, files=None):
        arguments = {"code": json.dumps(code or {}), **({"files": files} if files else {})}
        return wire.call("tools/call", {"name": "code_execute", "arguments": arguments})


class Named(FilesTest):
    def test_a_file_below_the_directory(self):
        directory = os.path.join(self.home, "data")
        os.mkdir(directory)
        for name, content in (("data/a.csv", "1,2\n"), ("secret", "beside")):
            with open(os.path.join(self.home, name), "w", encoding="utf-8") as file:
                file.write(content)
        files = [{"path": "x", "ref": "a.csv"}, {"path": "y", "ref": "../secret"}]
        opened = self.called(self.started("--files-below", directory, plugin=PROVIDER), files=files)["structuredContent"]["opened"]
        self.assertEqual((opened["a.csv"]["content"], opened["../secret"]), ("1,2\n", None))
        opened = self.called(self.started(plugin=PROVIDER), files=files)["structuredContent"]["opened"]
        self.assertEqual(opened, {"a.csv": None, "../secret": None})


PNG = "iVBORw0KGgo="  # its first bytes: nobody here looks further


def blocks(result, kind):
    return [block for block in result["content"] if block["type"] == kind]


class Left(FilesTest):
    """Files that a program left."""

    def setUp(self):
        super().setUp()
        self.wire = self.started(plugin=PROVIDER)

    def left(self, *files, wire=None, store=(), **more):
        return self.called(wire or self.wire, {"store": store, "result": {"files": list(files), **more}})

    def lines(self, result):
        return next(block["text"] for block in blocks(result, "text") if not block["text"].startswith("{")).splitlines()

    def read(self, uri):
        return self.wire.call("resources/read", {"uri": uri})["contents"]

    def test_a_chart_is_seen_described_and_linked(self):
        result = self.left({"path": "out/c.png", "mime_type": "image/png", "size": 8, "encoding": "base64", "content": PNG})
        self.assertEqual(blocks(result, "image"), [{"type": "image", "data": PNG, "mimeType": "image/png"}])
        [link] = blocks(result, "resource_link")
        self.assertEqual(link, {"type": "resource_link", "uri": link["uri"], "name": "out/c.png", "mimeType": "image/png", "size": 8})
        self.assertEqual(self.lines(result), [f"file: out/c.png (image/png, 8 B): {link['uri']}"])
        self.assertEqual(self.read(link["uri"]), [{"uri": link["uri"], "mimeType": "image/png", "blob": PNG}])
        [entry] = result["structuredContent"]["files"]
        self.assertEqual((entry["uri"], "content" in entry), (link["uri"], False))

    def test_one_that_the_provider_has_stored(self):
        stored = {"file": {"path": "c.png", "mime_type": "image/png"}, "content": "PNG"}
        result = self.left({"path": "c.png", "mime_type": "image/png", "size": 3, "uri": 0}, store=[stored])
        self.assertEqual(blocks(result, "image"), [{"type": "image", "data": "UE5H", "mimeType": "image/png"}])
        self.assertEqual([link["uri"] for link in blocks(result, "resource_link")], result["structuredContent"]["stored"])

    def test_an_image_that_is_too_large_to_see(self):
        large = "A" * (4 << 20 | 4)
        result = self.left({"path": "c.png", "mime_type": "image/png", "size": 3 << 20, "encoding": "base64", "content": large})
        self.assertEqual(blocks(result, "image"), [])
        [link] = blocks(result, "resource_link")
        self.assertEqual(self.read(link["uri"])[0]["blob"], large)
        self.assertNotIn("content", result["structuredContent"]["files"][0])

    def test_what_can_run_scripts_is_linked_and_marked(self):
        for mime_type, name in (("image/svg+xml", "a.svg"), ("text/html", "a.html")):
            result = self.left({"path": name, "mime_type": mime_type, "size": 4, "content": "<a/>", "active": True})
            self.assertEqual({block["type"] for block in result["content"]}, {"text", "resource_link"})
            [link] = blocks(result, "resource_link")
            self.assertIn("active", link["description"])
            self.assertIn(f"{name} ({mime_type}, 4 B, can run scripts)", self.lines(result)[0])
            self.assertEqual(self.read(link["uri"])[0]["text"], "<a/>")

    def test_small_text_stays_in_the_structured_content(self):
        entry = {"path": "a.txt", "mime_type": "text/plain", "size": 2, "content": "hi"}
        [kept] = self.left(entry)["structuredContent"]["files"]
        self.assertEqual({**kept, "uri": ""}, {**entry, "uri": ""})

    def test_what_was_left_out_is_named(self):
        result = self.left({"path": "big.bin", "mime_type": "application/zip", "size": 2 << 30, "omitted": "too_large"},
                           files_omitted={"count": 3, "bytes": 1200000, "reason": "too_many"},
                           results_omitted={"count": 1, "bytes": 5, "reason": "max_results"})
        self.assertEqual(self.lines(result), ["file: big.bin (application/zip, 2.1 GB): left out, too_large",
                                              "3 more files, 1.2 MB: left out, too_many", "1 more results, 5 B: left out, max_results"])
        self.assertEqual(blocks(result, "resource_link"), [])

    def test_earlier_revisions_get_the_address_in_words(self):
        wire = self.started(plugin=PROVIDER, revision="2024-11-05")
        result = self.left({"path": "a.txt", "mime_type": "text/plain", "size": 2, "content": "hi"}, wire=wire)
        self.assertEqual(blocks(result, "resource_link"), [])
        self.assertRegex(self.lines(result)[0], r"^file: a.txt \(text/plain, 2 B\): toolhost://run/[0-9a-f]{32}/a.txt$")

    def test_a_name_cannot_be_taken_for_a_line(self):
        result = self.left({"path": "a\nfile: b", "mime_type": "text/plain", "size": 2, "content": "hi"})
        self.assertEqual(len(self.lines(result)), 1)

    def test_a_later_call_can_have_it(self):
        """Also of another server, and of toolhost run."""
        self.left({"path": "a.csv", "mime_type": "text/csv", "size": 4, "content": "1,2\n"})
        uri = self.left({"path": "a.csv", "mime_type": "text/csv", "size": 4, "content": "1,2\n"})["structuredContent"]["files"][0]["uri"]
        for wire in (self.wire, self.started(plugin=PROVIDER)):
            opened = self.called(wire, files=[{"path": "in.csv", "ref": uri}])["structuredContent"]["opened"]
            self.assertEqual(opened[uri]["content"], "1,2\n")

    def test_without_a_place_to_keep_them(self):
        wire = self.started("--artifacts-max-bytes", "0", plugin=PROVIDER)
        entry = {"path": "a.bin", "mime_type": "application/zip", "size": 30000, "encoding": "base64", "content": "A" * 40000}
        result = self.left(entry, wire=wire)
        self.assertEqual(result["structuredContent"]["files"], [entry])
        self.assertIn("larger than all that is kept", self.said())


class Listed(FilesTest):
    """resources/list: the files that a client's own calls have left."""

    def left(self, wire, *names, **more):
        files = [{"path": name, "mime_type": "text/plain", "size": 2, "encoding": "utf-8", "content": "hi"} for name in names]
        return self.called(wire, {"result": {"files": files, **more}})["structuredContent"]

    def pages(self, wire, **params):
        pages, cursor = [], {}
        while cursor is not None:
            page = wire.call("resources/list", {**params, **cursor})
            pages.append(page["resources"])
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        return pages

    def test_files_of_calls_are_listed_in_their_order_and_can_be_read(self):
        for revision in HANDSHAKE:
            wire = self.started(plugin=PROVIDER, revision=revision)
            self.assertEqual(self.pages(wire), [[]])
            for name in ("b.txt", "a.txt"):
                self.left(wire, name)
            [listed] = self.pages(wire)
            self.assertEqual([(entry["name"], entry["mimeType"], entry["size"]) for entry in listed],
                             [("b.txt", "text/plain", 2), ("a.txt", "text/plain", 2)], revision)
            for entry in listed:
                self.assertEqual(wire.call("resources/read", {"uri": entry["uri"]})["contents"][0]["text"], "hi")

    def test_a_stateless_client_has_the_same_list_and_never_caches_it(self):
        wire = self.start("--approve", "always", plugin=PROVIDER)
        wire.call("tools/call", {"name": "code_execute", "_meta": meta(), "arguments": {"code": json.dumps(
            {"result": {"files": [{"path": "a.svg", "mime_type": "image/svg+xml", "size": 4, "content": "<a/>", "active": True}]}})}})
        page = wire.call("resources/list", {"_meta": meta()})
        self.assertEqual((page["resultType"], page["ttlMs"], page["cacheScope"], "nextCursor" in page), ("complete", 0, "private", False))
        [entry] = page["resources"]
        self.assertIn("active", entry["description"])
        self.assertGreater(wire.call("resources/read", {"uri": entry["uri"], "_meta": meta()})["ttlMs"], 0)

    def test_displays_that_are_kept_are_listed(self):
        wire = self.started(plugin=PROVIDER)
        self.left(wire, "a.txt", results=[{"type": "resource", "mime_type": "text/html", "text": "<p>"},
                                          {"type": "resource", "mime_type": "text/x", "uri": "x://own", "text": "t"}])
        self.assertEqual([entry["name"] for entry in self.pages(wire)[0]], ["a.txt", "display-1.html"])

    def test_pages_have_all_of_them_once(self):
        wire = self.started(plugin=PROVIDER)
        names = [f"{number:03}.txt" for number in range(130)]
        self.left(wire, *names[:70])
        self.left(wire, *names[70:])
        pages = self.pages(wire)
        self.assertEqual([len(page) for page in pages], [100, 30])
        self.assertEqual([entry["name"] for page in pages for entry in page], names)
        cursor = wire.call("resources/list")["nextCursor"]
        self.left(wire, "later.txt")
        self.assertEqual([entry["name"] for entry in wire.call("resources/list", {"cursor": cursor})["resources"]], [*names[100:], "later.txt"])
        for wrong in ("", "x", "-1", "132", "1 ", 5, None, "99999999999999999999"):
            error = wire.error("resources/list", {"cursor": wrong})
            self.assertEqual((error["code"], error["message"]), (-32602, "no such cursor"), wrong)

    def test_what_is_kept_no_more_is_listed_no_more(self):
        wire = self.started("--artifacts-max-bytes", "8192", plugin=PROVIDER)
        for name in ("a.txt", "b.txt", "c.txt"):
            self.left(wire, name)
        self.assertEqual([entry["name"] for entry in self.pages(wire)[0]], ["b.txt", "c.txt"])

    def test_another_client_s_files_are_not_listed(self):
        wire = self.started(plugin=PROVIDER)
        uri = self.left(wire, "a.txt")["files"][0]["uri"]
        other = self.started(plugin=PROVIDER)
        self.assertEqual(self.pages(other), [[]])
        self.assertEqual(other.call("resources/read", {"uri": uri})["contents"][0]["text"], "hi")  # it may be told the address

    def test_nor_are_those_of_another_connection_of_the_same_server(self):
        path = os.path.join(self.home, "socket")
        self.start("--approve", "always", "--listen", f"unix:{path}", plugin=PROVIDER)
        self.wait_until(lambda: os.path.exists(path), "the socket")
        one, other = self.connect(path)[0], self.connect(path)[0]
        for wire in (one, other):
            wire.handshake()
        self.left(one, "a.txt")
        self.assertEqual([[entry["name"] for entry in self.pages(wire)[0]] for wire in (one, other)], [["a.txt"], []])


class Shown(FilesTest):
    """Values and displays of a program."""

    def setUp(self):
        super().setUp()
        self.wire = self.started(plugin=PROVIDER)

    def shown(self, *results, **more):
        result = self.called(self.wire, {"result": {"results": list(results), **more}})
        self.assertTrue(result["content"].pop()["text"].startswith("{"))  # the whole output, last
        return result["content"], result["structuredContent"]["results"]

    def test_values_are_text(self):
        value = {"type": "text", "role": "value", "mime_type": "text/plain", "text": "   a\n0  1"}
        number = {"type": "resource", "role": "value", "mime_type": "application/json", "text": "[1]"}
        self.assertEqual(self.shown(value, number), ([{"type": "text", "text": "   a\n0  1"}, {"type": "text", "text": "[1]"}], [value, number]))

    def test_a_picture_is_an_image_with_its_description(self):
        picture = {"type": "image", "role": "display", "mime_type": "image/png", "alt": "a line", "chart": {"type": "line"},
                   "alternatives": {"text/plain": "<Figure>"}}
        content, [structured] = self.shown({**picture, "data": PNG})
        self.assertEqual(content, [{"type": "image", "data": PNG, "mimeType": "image/png"}, {"type": "text", "text": "a line"}])
        del picture["alternatives"]
        self.assertEqual(structured, picture)

    def test_html_is_its_plain_form_and_a_link(self):
        table = {"type": "resource", "role": "value", "mime_type": "text/html", "text": "<table>", "alternatives": {"text/plain": "a b"}}
        content, [structured] = self.shown(table)
        self.assertEqual([block["type"] for block in content], ["text", "resource_link", "text"])
        self.assertEqual((content[0]["text"], content[1]["name"], content[1]["mimeType"]), ("a b", "display-1.html", "text/html"))
        self.assertIn("active", content[1]["description"])
        self.assertEqual(content[2]["text"], f"file: display-1.html (text/html, 7 B, can run scripts): {content[1]['uri']}")
        self.assertEqual(self.wire.call("resources/read", {"uri": content[1]["uri"]})["contents"][0]["text"], "<table>")
        del table["alternatives"]
        self.assertEqual(structured, {**table, "uri": content[1]["uri"]})

    def test_all_forms_where_the_whole_result_is_wanted(self):
        self.wire = self.started("--result", "full", plugin=PROVIDER)
        value = {"type": "text", "mime_type": "text/plain", "text": "a", "alternatives": {"text/html": "<p>"}, "active": True}
        self.assertEqual(self.shown(value), ([{"type": "text", "text": "a"}], [value]))

    def test_a_resource_of_the_provider_s(self):
        """What has a name is embedded, but for what can run scripts."""
        chart = {"type": "resource", "mime_type": "application/vnd.vegalite.v5+json", "uri": "x://chart", "text": "{}"}
        page = {"type": "resource", "mime_type": "text/html", "uri": "x://page", "text": "<p>"}
        content, _ = self.shown(chart, page)
        self.assertEqual([block["type"] for block in content], ["resource", "resource_link", "text"])
        self.assertEqual(content[0]["resource"], {"uri": "x://chart", "mimeType": "application/vnd.vegalite.v5+json", "text": "{}"})

    def test_what_no_model_can_see_is_linked(self):
        svg = {"type": "image", "mime_type": "image/svg+xml", "text": "<svg/>"}
        large = {"type": "image", "mime_type": "image/png", "data": "A" * (4 << 20 | 4)}
        chart = {"type": "resource", "mime_type": "application/vnd.vegalite.v5+json", "text": "{}"}
        html = {"type": "text", "mime_type": "text/html", "text": "<p>"}
        content, structured = self.shown(svg, large, chart, html)
        self.assertEqual([(block.get("name"), block.get("mimeType")) for block in content[:-1]],
                         [("display-1.svg", "image/svg+xml"), ("display-2.png", "image/png"),
                          ("display-3.json", "application/vnd.vegalite.v5+json"), ("display-4.html", "text/html")])
        self.assertEqual({block["type"] for block in content[:-1]}, {"resource_link"})
        self.assertEqual([entry["uri"] for entry in structured], [block["uri"] for block in content[:-1]])
        self.assertNotIn("data", structured[1])


class Real(FilesTest):
    """The provider of this project."""

    def test_a_chart_and_a_later_call_that_reads_it(self):
        wire = self.started(plugin=CODE_EXECUTE)
        schema = wire.call("tools/list")["tools"][0]["outputSchema"]
        if wire.call("tools/call", wire.tool_call("true"))["isError"]:
            self.skipTest("nothing runs on this machine")
        result = wire.call("tools/call", wire.tool_call(r"printf '\211PNG\r\n\032\nx' > c.png; head -c 3000000 /dev/zero > large"))
        self.assertEqual([block["mimeType"] for block in blocks(result, "image")], ["image/png"])
        links = {link["name"]: link["uri"] for link in blocks(result, "resource_link")}
        self.assertEqual(set(links), {"c.png", "large"})
        if jsonschema:
            jsonschema.validate(result["structuredContent"], schema)
        call = wire.tool_call("wc -c < in")
        call["arguments"]["files"] = [{"path": "in", "ref": links["large"]}]
        self.assertEqual(wire.call("tools/call", call)["structuredContent"]["stdout"].strip(), "3000000")


if __name__ == "__main__":
    tap.run_unittest()
