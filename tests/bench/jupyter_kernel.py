# SPDX-License-Identifier: Apache-2.0
"""A Jupyter kernel as its own client drives it: executes each line of standard input, and answers how many milliseconds it took until the
kernel was idle again. Runs in an interpreter that has ipykernel and jupyter_client."""
import sys
import time

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    print("ready", flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        reply = client.execute_interactive(line.rstrip("\n"), output_hook=lambda message: None)
        took = time.perf_counter() - begin
        print(took * 1000 if reply["content"]["status"] == "ok" else reply["content"], flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
