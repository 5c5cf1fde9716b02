# SPDX-License-Identifier: Apache-2.0
"""A throw-away certificate authority (the openssl command), and directories of certificates as docker's clients name them."""
import os
import pathlib
import shutil
import subprocess

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*arguments, text=None):
    subprocess.run(["openssl", *map(str, arguments)], input=text, capture_output=True, text=True, check=True)


class Authority:
    def __init__(self, directory, name):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir()
        self.certificate, self.key = self.directory / "ca.pem", self.directory / "ca-key.pem"
        openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", "-days", 2, "-keyout", self.key, "-out", self.certificate)

    def issue(self, directory, name, usage, alternative=None, authority=None):
        """DIRECTORY with a certificate of this authority for that name, its key, and ca.pem of authority (else this one)."""
        directory = pathlib.Path(directory)
        directory.mkdir()
        extensions = f"extendedKeyUsage={usage}\n" + (f"subjectAltName={alternative}\n" if alternative else "")
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", directory / "key.pem", "-out", directory / "request")
        openssl("x509", "-req", "-in", directory / "request", "-CA", self.certificate, "-CAkey", self.key, "-days", 2,
                "-set_serial", int.from_bytes(os.urandom(8), "big"), "-extfile", "/dev/stdin",
                "-out", directory / "cert.pem", text=extensions)
        (directory / "request").unlink()
        shutil.copy((authority or self).certificate, directory / "ca.pem")
        return directory


class Certificates:
    """Below DIRECTORY: server (for 127.0.0.1), client, and clients whose files are wrong in one way each."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        directory.mkdir()
        ours, other = Authority(directory / "ours", "ours"), Authority(directory / "other", "other")
        self.server = ours.issue(directory / "server", "engine", "serverAuth", "IP:127.0.0.1")
        self.client = ours.issue(directory / "client", "gateway", "clientAuth")
        self.trusts_other = ours.issue(directory / "trusts-other", "gateway", "clientAuth", authority=other)
        self.of_other = other.issue(directory / "of-other", "gateway", "clientAuth", authority=ours)
        self.anonymous = self.copy(directory / "anonymous")
        for name in ("cert.pem", "key.pem"):
            (self.anonymous / name).unlink()
        self.no_key = self.copy(directory / "no-key")
        (self.no_key / "key.pem").unlink()
        self.other_key = self.copy(directory / "other-key")
        shutil.copy(self.of_other / "key.pem", self.other_key / "key.pem")
        self.locked_key = self.copy(directory / "locked-key")
        openssl("ec", "-in", self.client / "key.pem", "-aes256", "-passout", "pass:word", "-out", self.locked_key / "key.pem")
        self.no_ca = self.copy(directory / "no-ca")
        (self.no_ca / "ca.pem").unlink()
        self.bad_ca = self.copy(directory / "bad-ca")
        (self.bad_ca / "ca.pem").write_text("nothing of the kind\n")

    def copy(self, directory):
        shutil.copytree(self.client, directory)
        return directory
