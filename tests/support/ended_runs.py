# SPDX-License-Identifier: Apache-2.0
"""A run that is ended from outside, by its time limit, a cancellation or its output limit, while its tree writes a file."""
from provider import Host

WAYS = {"wall_timeout": "timeout", "cancelled": "cancelled", "output_limit": "killed"}  # cause: status
LEAVES_AND_STAYS = ("echo half > first; mkdir out; echo more > out/second; (setsid sh -c 'while :; do echo x >> grows; done' &)\n"
                    "while [ ! -s grows ]; do :; done; echo ready; {rest}")
CALL = 41


def end_from_outside(provider, run, limits, rights, how, wall_ms=1000):
    """run(code, policy, language, host) calls the provider. The result, and the host."""
    policy = {"limits": {**limits, "output_total_bytes": {"default": 1 << 20, "max": 1 << 20},
                         "wall_ms": {"default": wall_ms if how == "wall_timeout" else 120000, "max": 300000}}}

    def cancel(_stream, _bytes, _length):
        if how == "cancelled":
            provider.cancel(CALL)
    host = Host(rights, call_id=CALL, on_output=cancel)
    result = run(LEAVES_AND_STAYS.format(rest="yes" if how == "output_limit" else "sleep 1000"), policy, "sh", host)
    if "ready" not in result["stdout"] and wall_ms < 60000:  # a slow machine
        return end_from_outside(provider, run, limits, rights, how, wall_ms * 4)
    return result, host
