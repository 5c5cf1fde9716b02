# SPDX-License-Identifier: Apache-2.0
"""A tool loop with any OpenAI-compatible server (llama.cpp, Ollama, vLLM, OpenAI):
OPENAI_BASE_URL=http://127.0.0.1:8080/v1 python3 openai_loop.py code_execute.so 'How much is 2 to the 64?'
The tools come from `toolhost manifest --format openai`; capability, approval, secret and streaming from gateway.py.
"""
import ctypes
import json
import os
import subprocess
import sys
import urllib.request

import gateway

TURNS = 8  # a model that never stops calling is stopped


def complete(messages, tools):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": os.environ.get("MODEL", "default"), "messages": messages, "tools": tools}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")})
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)["choices"][0]["message"]


def run(library, call):
    """What the model is told: the result's members that it can act on."""
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError as error:
        return {"error": f"the arguments are no JSON: {error}"}
    if call["function"]["name"] != "code_execute":
        return {"error": "there is no such tool"}
    result = gateway.invoke(library, arguments, gateway.Host())
    return {name: result[name] for name in ("status", "stdout", "stderr", "exit_code", "error", "notes")}


def answer(library, tools, question):
    messages = [{"role": "user", "content": question}]
    for _ in range(TURNS):
        message = complete(messages, tools)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(run(library, call))})
    return "the model did not come to an end"


if __name__ == "__main__":
    plugin, asked = sys.argv[1:]
    offered = subprocess.run([os.environ.get("TOOLHOST", "toolhost"), "manifest", "--plugin", plugin, "--format", "openai"],
                             check=True, capture_output=True).stdout
    print("answer:", answer(ctypes.CDLL(plugin), json.loads(offered), asked))
