# SPDX-License-Identifier: Apache-2.0
"""Filters of system calls as the kernel takes them: a container's profile made into one as runc makes it, with this machine's
libseccomp, and the verdict of a filter on a call (seccomp(2))."""
import ctypes
import os
import platform
import struct

ALLOW, KILL_PROCESS, KILL_THREAD, NOTIFY, ERRNO = 0x7fff0000, 0x80000000, 0, 0x7fc00000, 0x00050000
ACTIONS = {"SCMP_ACT_ALLOW": ALLOW, "SCMP_ACT_KILL_PROCESS": KILL_PROCESS, "SCMP_ACT_ERRNO": ERRNO}
OPERATORS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_GT": 6, "SCMP_CMP_MASKED_EQ": 7}
ARCHITECTURE = {"x86_64": 0xc000003e, "aarch64": 0xc00000b7}[platform.machine()]
FOREIGN = 0x40000003  # i386's


class ArgumentTest(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("one", ctypes.c_uint64), ("two", ctypes.c_uint64)]


def libseccomp():
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_syscall_resolve_num_arch.restype = ctypes.c_void_p
    return library


def number(name):
    """Of that name; below zero where libseccomp has none for this architecture."""
    return libseccomp().seccomp_syscall_resolve_name(name.encode())


def action(rule):
    return ACTIONS[rule["action"]] | rule.get("errnoRet", 0)


def of_profile(profile):
    """The filter that a container of this profile gets, as instructions. Rules that say what the default says are left out."""
    library = libseccomp()
    default = ACTIONS[profile["defaultAction"]] | profile["defaultErrnoRet"]
    context = library.seccomp_init(default)
    try:
        for rule in profile["syscalls"]:
            indexes = [test["index"] for test in rule["args"]]
            assert len(set(indexes)) == len(indexes), f"engines take two tests of one argument for alternatives: {rule}"
            tests = (ArgumentTest * len(rule["args"]))(*((test["index"], OPERATORS[test["op"]], test["value"], test.get("valueTwo", 0))
                                                         for test in rule["args"]))
            for name in rule["names"]:
                known = library.seccomp_syscall_resolve_name(name.encode())
                if known >= 0 and action(rule) != default:
                    result = library.seccomp_rule_add_array(context, action(rule), known, len(tests), tests)
                    assert result == 0, (name, rule, result)
        with os.fdopen(os.memfd_create("filter"), "rb") as file:
            assert library.seccomp_export_bpf(context, file.fileno()) == 0
            file.seek(0)
            return instructions(file.read())
    finally:
        library.seccomp_release(context)


def instructions(program):
    """Of struct sock_filter[]."""
    return [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]


JUMPS = {0x15: lambda value, with_: value == with_, 0x25: lambda value, with_: value > with_, 0x35: lambda value, with_: value >= with_,
         0x45: lambda value, with_: value & with_ != 0}


def verdict(program, call, arguments=(), architecture=ARCHITECTURE):
    """What the filter says of that call, as SECCOMP_RET_*."""
    data = struct.pack("=IIQ6Q", call, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        if code == 0x06:  # BPF_RET | BPF_K
            return operand
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            accumulator, = struct.unpack_from("=I", data, operand)
        elif code == 0x54:  # BPF_ALU | BPF_AND | BPF_K
            accumulator &= operand
        elif code == 0x05:  # BPF_JMP | BPF_JA
            at += operand
        else:
            at += if_true if JUMPS[code](accumulator, operand) else if_false
