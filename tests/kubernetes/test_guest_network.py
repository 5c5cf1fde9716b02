# SPDX-License-Identifier: Apache-2.0
"""What the guest tries of a pod's network, in a network namespace that a test has filled: what it reports is what the kernel answers."""
import os
import struct
import subprocess

import guest
import tap
from started_guest import CONTAINER, IMAGE, PROGRAM, TIME

SERVICES = "ip address add 10.96.0.1/32 dev lo"
POD = "ip address add 10.244.0.7/32 dev lo"
program_file = os.open(PROGRAM, os.O_PATH)


def said(*commands, call, **variables):
    """{kind: payload} of what it says up to its waiting."""
    script = " && ".join(["ip link set lo up", *commands, 'exec "$@"'])
    process = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "--", *CONTAINER[:1], *CONTAINER[3:-4], "sh", "-c",
                                f"mount -t tmpfs tmpfs /home && mkdir /home/sandbox && {script}", "sh", f"/proc/self/fd/{program_file}",
                                "without-network", "distant", "64", "0"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**IMAGE, **variables}, pass_fds=[program_file])
    process.stdin.write(call)
    process.stdin.flush()
    output = b""
    while not output.endswith(guest.frame("waiting")) and (piece := os.read(process.stdout.fileno(), 65536)):
        output += piece
    process.communicate(timeout=TIME)
    return guest.frames(output)


def tries(*commands, peer="10.244.0.7", server="10.96.0.1", port="443"):
    found = said(*commands, call=b"n" + struct.pack("B", len(peer)) + peer.encode(), KUBERNETES_SERVICE_HOST=server, KUBERNETES_SERVICE_PORT=port)
    tap.equal([kind for kind, _ in found], ["facts", "network", "waiting"])
    return dict(line.split(" ") for line in found[1][1].decode().splitlines())


def test_without_a_route_nothing_answers():
    """101 is ENETUNREACH."""
    tap.equal(tries(), {"control": "connected"} | dict.fromkeys(("api-server", "dns-tcp", "dns-udp", "metadata", "pod"), "101"))


def test_a_refusal_is_told():
    """By the kernel of whoever has the address, as of a pod without a listener."""
    found = tries(SERVICES, POD, "ip address add 10.96.0.10/32 dev lo", "ip address add 169.254.169.254/32 dev lo")
    tap.equal(found, {"control": "connected"} | dict.fromkeys(("api-server", "dns-tcp", "dns-udp", "metadata", "pod"), "111"))


def test_silence_is_a_timeout():
    """The addresses are those of a link on which nobody is."""
    found = tries("ip link add hole type bridge", "ip link set hole up arp off", "ip route add default dev hole")
    tap.equal(found, {"control": "connected"} | dict.fromkeys(("api-server", "dns-tcp", "dns-udp", "metadata", "pod"), "timeout"))


def test_ipv6_is_tried_as_well():
    found = tries("ip -6 address add fd00::1/128 dev lo nodad", "ip -6 address add fd00::a/128 dev lo nodad", server="fd00::1", peer="fd00::7")
    tap.equal((found["api-server"], found["dns-tcp"], found["dns-udp"], found["control"]), ("111", "111", "111", "connected"), found)
    tap.true(found["pod"] in ("101", "13", "timeout"), found)


def test_what_is_not_known_is_not_in_the_report():
    found = tries(server="no address", peer="1.2.3.4.5")
    tap.equal(found, {"control": "connected", "metadata": "101"})


def test_a_usual_call_tries_nothing():
    tap.equal([kind for kind, _ in said(SERVICES, call=b"c", KUBERNETES_SERVICE_HOST="10.96.0.1")], ["facts", "waiting"])


tap.run(globals())
