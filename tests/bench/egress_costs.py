# SPDX-License-Identifier: Apache-2.0
"""What a request through the broker of endpoints costs: the same client with and without it, to the same upstream by TLS on loopback,
connections kept on both sides, in turn. And how many requests a second it carries."""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("support", "egress")]
import certificates
import figures
from gateway import BUILD, Absent

PROGRAM = BUILD / "tests" / "bench" / "bench_egress"
REQUESTS, CALLERS, ROUNDS = 2000, 16, 3


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


def egress():
    if not PROGRAM.exists():
        raise Absent("the broker of endpoints is not built here")
    os.environ.setdefault("CODE_EXECUTE_SO", str(BUILD / "plugin" / "code_execute.so"))
    import broker
    import egress_wire as wire
    with tempfile.TemporaryDirectory() as directory, upstream(pathlib.Path(directory)) as (port, ca), broker.Broker() as program:
        endpoint = {"name": "api", "base_url": f"https://127.0.0.1:{port}", "rules": [wire.rule(["GET"], ["/**"])], "private": 1, "ca": ca.read_bytes(),
                    "auth": "bearer", "credential": "a-token-of-some-length", "limits": {"requests": 1 << 30, "in_flight": CALLERS}}
        with broker.Run(program, [endpoint]) as run:
            direct, through = f"https://127.0.0.1:{port}/x", f"http://127.0.0.1:{run.port}/api/x"
            pairs = [tuple(map(float, line.split())) for line in printed("latency", ca, REQUESTS, direct, through).splitlines()]
            rates = [(float(printed("rate", ca, 4 * REQUESTS, CALLERS, direct)), float(printed("rate", ca, 4 * REQUESTS, CALLERS, through)))
                     for _ in range(ROUNDS)]
    told = {"requests": REQUESTS, "callers": CALLERS}
    for index, name in enumerate(("direct", "through")):
        times = sorted(pair[index] for pair in pairs)
        told[name] = {"p50_ms": figures.percentile(times, 50), "p99_ms": figures.percentile(times, 99),
                      "per_second": statistics.median(rate[index] for rate in rates)}
    for name in ("p50_ms", "p99_ms"):
        told["added_" + name] = told["through"][name] - told["direct"][name]
    return told


def lines(told):
    if "egress" not in told:
        return []
    cost = told["egress"]
    return [f"egress: a request adds {cost['added_p50_ms']:.2f} ms p50, {cost['added_p99_ms']:.2f} ms p99 (direct {cost['direct']['p50_ms']:.2f} and "
            f"{cost['direct']['p99_ms']:.2f}, through the broker {cost['through']['p50_ms']:.2f} and {cost['through']['p99_ms']:.2f})",
            f"egress: {cost['through']['per_second']:.0f} requests/s with {cost['callers']} at one time (direct {cost['direct']['per_second']:.0f})"]
