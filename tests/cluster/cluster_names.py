# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the cluster's DNS, which scripts/with-cluster does not have: A records of headless services by the EndpointSlices of the
real API server, the ready addresses as CoreDNS has them. It is this process's threads; the machine's resolver asks it in this mount
namespace."""
import pathlib
import re
import socket
import struct
import subprocess
import threading

ADDRESS = ("127.0.0.1", 53)
SUFFIX = re.compile(r"^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(\.cluster\.local)?$")
A, NAME_ERROR = 1, 3


class Names:
    def __init__(self, server, directory):
        self.server = server
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(ADDRESS)
        configuration = pathlib.Path(directory, "resolv.conf-of-tests")
        configuration.write_text("nameserver 127.0.0.1\n")
        subprocess.run(["mount", "--bind", configuration, "/etc/resolv.conf"], check=True)
        threading.Thread(target=self.serve, daemon=True).start()

    def addresses(self, name):
        """None: there is no such name."""
        service = SUFFIX.match(name)
        if not service:
            return None
        path = f"/apis/discovery.k8s.io/v1/namespaces/{service[2]}/endpointslices?labelSelector=kubernetes.io/service-name={service[1]}"
        slices = self.server.ask("GET", path)[1].get("items", [])
        found = [address for part in slices for endpoint in part.get("endpoints") or [] if endpoint["conditions"].get("ready")
                 for address in endpoint["addresses"]]
        return found or None

    def serve(self):
        while True:
            question, asker = self.socket.recvfrom(512)
            self.socket.sendto(self.answer(question), asker)

    def answer(self, question):
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        [kind] = struct.unpack_from(">H", question, at + 1)
        addresses = self.addresses(".".join(labels).lower())
        records = addresses or [] if kind == A else []
        head = question[:2] + struct.pack(">HHHHH", 0x8580 | (NAME_ERROR if addresses is None else 0), 1, len(records), 0, 0)
        return head + question[12:at + 5] + b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 5, 4) + socket.inet_aton(address) for address in records)
