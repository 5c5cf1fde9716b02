# SPDX-License-Identifier: Apache-2.0
"""JSON Merge Patch (RFC 7386), a second time, in another hand than plugin/json/json_input.c."""


def merged(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
