# SPDX-License-Identifier: Apache-2.0
"""What a request through the broker of endpoints costs: the same client with and without it, to the same upstream by TLS on loopback,
connections kept on both sides, in turn. And how many requests a second it carries. Beside it mitmproxy, where its program is found: as a
reverse proxy that adds the credential."""
import contextlib
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("support", "egress")]
import figures
import tap
from gateway import BUILD, Absent
from servers import certificates

PROGRAM = BUILD / "tests" / "bench" / "bench_egress"
REQUESTS, CALLERS, ROUNDS = 2000, 16, 3
FOR_A_RATE = {"mitmproxy": 1000}  # of each round; of others so many that it takes about as long
TOKEN = "a-token-of-some-length"


def printed(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def upstream(directory):
    """Its port and the authority that it is of."""
    authority = certificates.Authority(directory / "ca", "bench")
    made = authority.issue(directory / "upstream", "upstream", "serverAuth", "IP:127.0.0.1")
    with subprocess.Popen([PROGRAM, "upstream", made / "key.pem", made / "cert.pem"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield int(process.stdout.readline()), authority.certificate
        process.stdin.close()


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextlib.contextmanager
def mitmproxy(directory, port, ca):
    """Its port; None where there is no mitmdump."""
    program = os.environ.get("CODE_EXECUTE_BENCH_MITMDUMP") or shutil.which("mitmdump")
    if not program:
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    command = [program, "--quiet", "--mode", f"reverse:https://127.0.0.1:{port}", "--listen-host", "127.0.0.1", "--listen-port", str(own), "--set",
               f"confdir={directory / 'mitmproxy'}", "--set", f"ssl_verify_upstream_trusted_ca={ca}", "--set", f"modify_headers=/~q/Authorization/Bearer {TOKEN}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            tap.eventually(lambda: accepts(own) or process.poll() is not None, "mitmproxy answers", 60)
            if process.poll() is not None:
                raise Absent(f"mitmproxy ends at once: {process.returncode}")
            yield own
        finally:
            process.terminate()


def measure(ca, urls):
    """By name: the times of requests to all of them in turn, and the requests a second of each, of which the rounds take turns too."""
    rounds = [tuple(map(float, line.split())) for line in printed("latency", ca, REQUESTS, *urls.values()).splitlines()]
    rates = [[float(printed("rate", ca, FOR_A_RATE.get(name, 4 * REQUESTS), CALLERS, url)) for name, url in urls.items()] for _ in range(ROUNDS)]
    told = {}
    for index, name in enumerate(urls):
        times = sorted(times[index] for times in rounds)
        told[name] = {"p50_ms": figures.percentile(times, 50), "p99_ms": figures.percentile(times, 99),
                      "per_second": statistics.median(rate[index] for rate in rates)}
    return told


def egress():
    if not PROGRAM.exists():
        raise Absent("the broker of endpoints is not built here")
    os.environ.setdefault("CODE_EXECUTE_SO", str(BUILD / "plugin" / "code_execute.so"))
    import broker
    import egress_wire as wire
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, ca = stack.enter_context(upstream(directory))
        program = stack.enter_context(broker.Broker())
        other = stack.enter_context(mitmproxy(directory, port, ca))
        endpoint = {"name": "api", "base_url": f"https://127.0.0.1:{port}", "rules": [wire.rule(["GET"], ["/**"])], "private": 1, "ca": ca.read_bytes(),
                    "auth": "bearer", "credential": TOKEN, "limits": {"requests": 1 << 30, "in_flight": CALLERS}}
        run = stack.enter_context(broker.Run(program, [endpoint]))
        urls = {"direct": f"https://127.0.0.1:{port}/x", "through": f"http://127.0.0.1:{run.port}/api/x"}
        if other:
            urls["mitmproxy"] = f"http://127.0.0.1:{other}/x"
        told = {"requests": REQUESTS, "callers": CALLERS, **measure(ca, urls)}
    for name in ("p50_ms", "p99_ms"):
        told["added_" + name] = told["through"][name] - told["direct"][name]
        if other:
            told["mitmproxy"]["added_" + name] = told["mitmproxy"][name] - told["direct"][name]
    return told


def lines(told):
    if "egress" not in told:
        return []
    cost, other = told["egress"], told["egress"].get("mitmproxy")
    made = [f"egress: a request adds {cost['added_p50_ms']:.2f} ms p50, {cost['added_p99_ms']:.2f} ms p99 (direct {cost['direct']['p50_ms']:.2f} and "
            f"{cost['direct']['p99_ms']:.2f}, through the broker {cost['through']['p50_ms']:.2f} and {cost['through']['p99_ms']:.2f})",
            f"egress: {cost['through']['per_second']:.0f} requests/s with {cost['callers']} at one time (direct {cost['direct']['per_second']:.0f})"]
    if not other:
        return [*made, "egress: absent beside ours: mitmproxy: no mitmdump in PATH, nor in CODE_EXECUTE_BENCH_MITMDUMP"]
    return [*made, f"egress: mitmproxy adds {other['added_p50_ms']:.2f} ms p50, {other['added_p99_ms']:.2f} ms p99, and carries {other['per_second']:.0f} "
            f"requests/s: ours / it {cost['added_p50_ms'] / other['added_p50_ms']:.3f} of what is added p50, and "
            f"{cost['through']['per_second'] / other['per_second']:.0f} times its requests/s"]
