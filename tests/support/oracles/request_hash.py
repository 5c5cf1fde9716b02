# SPDX-License-Identifier: Apache-2.0
"""The hash of a request, made again of what its approver was shown: by canonical JSON that shares nothing with the plugin's."""
import hashlib

from oracles.canonical import canonical

# Beside the members of a request: everything else that decides what runs.
SETTLED = ["image", "image_id", "limits", "mode", "narrowing", "policy_base_sha256", "tool", "workspace", "workspace_id"]


def hashed_members(provider):
    members = provider.manifest()["tools"][0]["input_members"].values()
    return {*SETTLED, *(facts["hashed_as"] for facts in members if "hashed_as" in facts)}


def recomputed(provider, asked):
    """asked: the request as the approver got it."""
    hashed = {name: asked[name] for name in hashed_members(provider) if name in asked}
    return hashlib.sha256(canonical({**hashed, "tool": "code_execute"})).hexdigest()
