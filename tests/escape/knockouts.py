# SPDX-License-Identifier: Apache-2.0
"""The layers of docker mode that a control takes away: each name is one change of the body of create. What a change lets in is
the test's own: its directory, its sockets, a container that it started itself."""
import json

import guest


def capabilities(status="/proc/self/status"):
    """Those that this process has: an engine started by it can give no others."""
    names = ("CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE "
             "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN "
             "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE "
             "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND").split()
    never = {"SYS_MODULE", "SYS_BOOT", "SYS_RAWIO"}  # no control may touch the machine itself
    with open(status) as file:
        held = int(next(line for line in file if line.startswith("CapEff")).split()[1], 16)
    return ["CAP_" + name for bit, name in enumerate(names) if held >> bit & 1 and name not in never]


def host(**values):
    return lambda body: body["HostConfig"].update(values)


def binds(*wanted):
    return lambda body: body["HostConfig"].setdefault("Binds", []).extend(wanted)


def bare_guest(path):
    """Takes away what the guest puts on programs from inside, behind a layer of the engine's, unless the guest is another already."""
    def change(body):
        if not any(bind.split(":")[1] == guest.PATH for bind in body["HostConfig"].get("Binds") or []):
            binds(f"{path}:{guest.PATH}:ro")(body)
    return change


def security(keep=(), add=()):
    def change(body):
        options = body["HostConfig"]["SecurityOpt"]
        body["HostConfig"]["SecurityOpt"] = [option for option in options if option.startswith(keep)] + list(add)
    return change


def seccomp(edit):
    """A change of the profile itself."""
    def change(body):
        options = body["HostConfig"]["SecurityOpt"]
        place = next(i for i, option in enumerate(options) if option.startswith("seccomp="))
        profile = json.loads(options[place].removeprefix("seccomp="))
        edit(profile)
        options[place] = "seccomp=" + json.dumps(profile)
    return change


def without_limit(name):
    def change(body):
        limits = body["HostConfig"]["Ulimits"]
        body["HostConfig"]["Ulimits"] = [limit for limit in limits if limit["Name"] != name]
    return change


def scratch(edit):
    """A change of the mount options, a list of words, of the memory file systems."""
    def change(body):
        for path, options in body["HostConfig"]["Tmpfs"].items():
            body["HostConfig"]["Tmpfs"][path] = ",".join(edit(options.split(",")))
    return change


def without_option(prefix):
    return scratch(lambda options: [option for option in options if not option.startswith(prefix)])


def as_root(body):
    body["User"] = "0:0"
    scratch(lambda options: ["uid=0" if o.startswith("uid=") else "gid=0" if o.startswith("gid=") else o for o in options])(body)


def network(mode, keep_name=True):
    def change(body):
        body["NetworkDisabled"] = False
        body["HostConfig"]["NetworkMode"] = mode
        if not keep_name:  # the engine takes no name for a container without a network of its own
            body["Hostname"] = body["Domainname"] = ""
    return change


def own_name_of_host(body):
    body["HostConfig"]["UTSMode"] = "host"
    body["Hostname"] = body["Domainname"] = ""


def ipc_of_host(body):
    body["HostConfig"]["IpcMode"] = "host"
    body["HostConfig"]["Tmpfs"].pop("/dev/shm")  # it would lie over the host's


def knockouts(directory, token, container, knocked_out_guest):
    """By name. `container` is the throw-away one's id; `knocked_out_guest` is mounted where the guest itself is a layer too."""
    bind = f"{directory}:{directory}"

    other_guest = binds(f"{knocked_out_guest}:{guest.PATH}:ro")

    def with_guest(*changes):
        return lambda body: [change(body) for change in (other_guest, *changes)]
    everything = capabilities()
    return {
        "bind": binds(bind),
        "gateway-home": binds(f"{directory.parent}/home:{directory.parent}/home:ro"),
        "bind-engine-socket": binds(f"{directory}/socket:/run/docker.sock"),
        "device": host(Devices=[{"PathOnHost": "/dev/zero", "PathInContainer": "/dev/not-ours", "CgroupPermissions": "r"}]),
        "environment": lambda body: body["Env"].append("CANARY=" + token),
        "user": as_root,
        "groups": host(GroupAdd=["0"]),
        "capabilities": host(CapDrop=[], CapAdd=everything),
        "bounding": host(CapDrop=[]),
        "leaked-descriptor": with_guest(binds(f"{directory}:/leaked:ro")),
        "readable-guest": with_guest(),
        "new-privileges": with_guest(security(keep="seccomp=")),
        "seccomp": security(keep="no-new", add=["seccomp=unconfined"]),
        "read-only-root": host(ReadonlyRootfs=False),
        "masked-paths": host(MaskedPaths=[]),
        "read-only-paths": host(ReadonlyPaths=[]),
        "processes": with_guest(host(PidMode="host")),
        "processes-of-other": with_guest(host(PidMode=f"container:{container}")),
        "ipc": ipc_of_host,
        "network": network("host"),
        "network-of-other": network(f"container:{container}", False),
        "cgroup-namespace": host(CgroupnsMode="host"),
        "host-name": own_name_of_host,
        "memory": host(Memory=0, MemorySwap=0),
        "pids": host(PidsLimit=0),
        "cores": host(NanoCpus=0),
        "nofile": without_limit("nofile"),
        "fsize": without_limit("fsize"),
        "cpu": without_limit("cpu"),
        "core": without_limit("core"),
        "scratch-size": without_option("size="),
        "scratch-inodes": without_option("nr_inodes="),
        "scratch-devices": scratch(lambda options: ["dev" if option == "nodev" else option for option in options]),
        "log": host(LogConfig={"Type": "json-file", "Config": {}}),
        "terminal": lambda body: body.update(Tty=True),
    }
