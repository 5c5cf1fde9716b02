# SPDX-License-Identifier: Apache-2.0
"""What a program sees of each isolation layer by its own system calls: true, false, or null where nothing would show it. Runs in the
sandbox, and without one as the control; gateway.py puts OUTSIDE before it: what the gateway is and has, and the run's limits."""
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import stat

PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP = 23, 39, 21
CAPABILITY_VERSION = 0x20080522
SIOCGIFNAME, SIOCGIFFLAGS, IFF_UP = 0x8910, 0x8913, 1
LIMITS = OUTSIDE["limits"]
HAS_PROC = os.path.exists("/proc/self/ns")
libc = ctypes.CDLL(None, use_errno=True)


def fails_with(number, function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.errno == number
    return False


def call_fails_with(number, function, *arguments):
    return function(*arguments) == -1 and ctypes.get_errno() == number


def in_own(namespace):
    """Where there is no /proc the rest has to show it."""
    return not HAS_PROC or os.readlink(f"/proc/self/ns/{namespace}") != OUTSIDE["namespaces"][namespace]


def user_namespace():
    if HAS_PROC and not (in_own("user") and open("/proc/self/uid_map").read().split()[::2] == ["1000", "1"]):
        return False
    return os.getresuid() == (1000, 1000, 1000) and os.stat("/usr").st_uid != OUTSIDE["owner of /usr"]


def pid_namespace():
    return in_own("pid") and (os.getpid(), os.getppid()) == (2, 1)


def mount_namespace():
    return in_own("mnt") and os.stat("/").st_dev != OUTSIDE["device of /"]


def interfaces():
    """{name: is it up} of every interface; what asks is a socket of the one family that the filter lets through."""
    found = {}
    with socket.socket(socket.AF_UNIX) as any_socket:
        for index in range(1, 64):
            try:
                name = fcntl.ioctl(any_socket, SIOCGIFNAME, bytes(16) + index.to_bytes(4, "little") + bytes(20))[:16]
            except OSError:
                continue
            flags = fcntl.ioctl(any_socket, SIOCGIFFLAGS, name + bytes(24))[16:18]
            found[name.rstrip(b"\0")] = bool(flags[0] & IFF_UP)
    return found


def network_namespace():
    return in_own("net") and interfaces() == {b"lo": False}


def ipc_namespace():
    """The gateway has made a segment with this key, for everybody of its namespace."""
    return in_own("ipc") and call_fails_with(errno.ENOENT, libc.shmget, OUTSIDE["shared memory"], 0, 0)


def uts_namespace():
    return in_own("uts") and os.uname().nodename == "sandbox"


def cgroup():
    """Forks are refused before RLIMIT_NPROC would, which counts the sandbox's init and this process too. That memory is counted for
    the tree is another run's to show: it is killed for it."""
    children, refused = [], False
    try:
        while not refused and len(children) < LIMITS["processes"] + 8:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except BlockingIOError:
        refused = True
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    return refused and (most == resource.RLIM_INFINITY or len(children) + 2 < most)


def cgroup_namespace():
    if not HAS_PROC:
        return None
    paths = [line.rstrip("\n").split(":", 2)[2] for line in open("/proc/self/cgroup")]
    return in_own("cgroup") and set(paths) == {"/"}


def is_read_only(path):
    """A change that changes nothing: the file system refuses it before anything else does."""
    return fails_with(errno.EROFS, os.chmod, path, stat.S_IMODE(os.stat(path).st_mode))


def read_only_root():
    return is_read_only("/") and is_read_only("/usr") and not any(map(os.path.exists, ("/root", "/var", "/sys", "/etc/shadow")))


def has_scratch_limits(place):
    status = os.statvfs(place)
    return (status.f_blocks * status.f_frsize, status.f_files) == (LIMITS["scratch_bytes"], LIMITS["scratch_inodes"])


def fill(path):
    try:
        with open(path, "wb", buffering=0) as file:
            for _ in range(LIMITS["scratch_bytes"] // 4096 + 1):
                file.write(bytes(4096))
    finally:
        os.unlink(path)


def scratch():
    places = ("/tmp", "/home/sandbox", "/dev/shm")
    return all(map(has_scratch_limits, places)) and all(fails_with(errno.ENOSPC, fill, f"{place}/full") for place in places)


def proc():
    return (HAS_PROC and {name for name in os.listdir("/proc") if name.isdigit()} <= {"1", "2"}
            and os.path.exists(f"/proc/{os.getpid()}/status") and not os.path.exists("/proc/sys"))


def capabilities():
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    bounding = [libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) for number in range(64)]
    return libc.capget(header, sets) == 0 and not any(sets) and bounding[0] == 0 and 1 not in bounding


def open_files():
    """How many may be open."""
    opened = []
    try:
        while True:
            opened.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return opened[-1] + 1
    finally:
        for descriptor in opened:
            os.close(descriptor)


def write_beyond_limit():
    with open("/tmp/long", "wb", buffering=0) as file:
        os.pwrite(file.fileno(), b"x", LIMITS["file_bytes"])


def resource_limits():
    wanted = {resource.RLIMIT_CORE: 1, resource.RLIMIT_NOFILE: LIMITS["open_files"], resource.RLIMIT_FSIZE: LIMITS["file_bytes"]}
    if any(resource.getrlimit(kind) != (value, value) for kind, value in wanted.items()):
        return False
    return open_files() == LIMITS["open_files"] and fails_with(errno.EFBIG, write_beyond_limit)


def no_new_privileges():
    return libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1


def landlock():
    """Landlock is asked before the kernel sees that the capability for a device is not there, which is EPERM."""
    path = f"/tmp/device-{os.getpid()}"
    if fails_with(errno.EACCES, os.mknod, path, stat.S_IFCHR, os.makedev(1, 3)):
        return True
    if os.path.lexists(path):
        os.unlink(path)
    return False


def seccomp():
    """Reading one's own memory takes no right at all."""
    target = ctypes.create_string_buffer(8)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(target), 8)
    refused = call_fails_with(errno.EPERM, libc.process_vm_readv, os.getpid(), vector, 1, vector, 1, 0)
    return libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 and refused


LAYERS = (user_namespace, pid_namespace, mount_namespace, network_namespace, ipc_namespace, uts_namespace, cgroup, cgroup_namespace,
          read_only_root, scratch, proc, capabilities, resource_limits, no_new_privileges, landlock, seccomp)
print(json.dumps({layer.__name__: layer() for layer in LAYERS}))
