# SPDX-License-Identifier: Apache-2.0
"""An index of packages and its file host: an upstream (upstream.py) that serves what a test puts there, to those who have its credential."""
import base64
import hashlib
import io
import json
import pathlib
import tarfile

from servers import upstream


class Handler(upstream.Handler):
    def handle_any(self):
        path = self.path.partition("?")[0]
        own = self.server.served
        self.server.asked.append({"method": self.command, "path": path, "authorization": self.headers.get("Authorization")})
        if own.credential and self.headers.get("Authorization") != own.credential:
            self.answer(401, b"who asks?\n", "text/plain")
        elif path in own.pages:
            content_type, body = own.pages[path]
            self.answer(200, body, content_type)
        else:
            self.answer(404, b"no such page\n", "text/plain")

    do_GET = do_POST = do_HEAD = handle_any


class Index(upstream.Upstream):
    """.pages is {path: (type, bytes)}; credential: the value of the header Authorization, without which nothing is served."""

    def __init__(self, directory, credential=None):
        pathlib.Path(directory).mkdir()
        super().__init__(directory, Handler)
        self.pages, self.credential = {}, credential
        self.server.served = self

    def add_file(self, path, content):
        self.pages[path] = ("application/octet-stream", content)

    def add_project(self, name, wheel, url):
        """A page of PEP 503 for one file, which is at that URL; {sha256} is not in it, so that the lock file's alone counts."""
        text = f"<!DOCTYPE html><html><body><a href=\"{url}\">{pathlib.Path(wheel).name}</a></body></html>"
        self.pages[f"/simple/{name.replace('_', '-')}/"] = ("text/html", text.encode())

    def add_npm(self, name, files, scripts=None, version="1.0.0"):
        """A package of npm; its entry for a lock file, whose address is that of the public registry."""
        data = io.BytesIO()
        files = {"package.json": json.dumps({"name": name, "version": version, "main": "index.js", "scripts": scripts or {}}), **files}
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for path, content in files.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(content.encode())
                archive.addfile(entry, io.BytesIO(content.encode()))
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode()
        self.add_file(f"/{name}/-/{name}-{version}.tgz", data.getvalue())
        return {"version": version, "resolved": f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz", "integrity": integrity,
                **({"hasInstallScript": True} if scripts else {})}
