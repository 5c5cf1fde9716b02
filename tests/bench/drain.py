# SPDX-License-Identifier: Apache-2.0
"""A gateway with many calls that wait, of several principals: in which order they end. Started by worker_costs.py, with the policy's file and
the number of each principal's calls; prints the principals in that order as JSON. All calls wait before the first one begins."""
import json
import sys
import threading
import time

from provider import Host, Provider

HOLD_S = 12  # for which all slots are held, while the calls come


def main():
    policy, slots, counts = json.loads(open(sys.argv[1]).read()), int(sys.argv[2]), json.loads(sys.argv[3])
    provider, order, failed, lock = Provider(), [], [], threading.Lock()
    threading.stack_size(1 << 18)
    if provider.use_policy(policy) != 0:
        sys.exit("the policy is refused")

    def call(principal, code):
        _, result = provider.invoke({"language": "sh", "code": code}, Host(("sandbox.exec",), context={"principal": principal}))
        with lock:
            if result["status"] != "completed":
                failed.append(result["error"] or result["status"])
            elif principal != "holder":
                order.append(principal)

    call("holder", ":")
    holders = [threading.Thread(target=call, args=("holder", f"sleep {HOLD_S}")) for _ in range(slots)]
    begun = time.monotonic()
    for thread in holders:
        thread.start()
    time.sleep(2)
    threads = [threading.Thread(target=call, args=(f"principal-{number}", "echo hi")) for number, count in enumerate(counts) for _ in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    if order or time.monotonic() - begun > HOLD_S:
        sys.exit("the calls came too slowly: some ended before others had come")
    for thread in (*holders, *threads):
        thread.join()
    if failed:
        sys.exit(f"{len(failed)} calls failed: {failed[0]}")
    print(json.dumps({"order": order, "seconds": time.monotonic() - begun - HOLD_S}))


main()
