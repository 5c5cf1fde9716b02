# SPDX-License-Identifier: Apache-2.0
"""Every member of a container's configuration, and of its seccomp profile, as a knock-out: how it is changed, what the read-back
calls it, and what catches it if the engine lies about it: a payload of attacks/, the guest's report ("report"), the stream
that then is none ("stream"), or nothing, with the reason why nothing is lost."""
import dataclasses
import json
import pathlib

from knockouts import host, ipc_of_host, network, scratch, seccomp, security, without_limit, without_option

CALLS = pathlib.Path(__file__).parents[2] / "policies" / "seccomp" / "calls.json"


@dataclasses.dataclass
class Field:
    name: str
    change: object
    catcher: str = ""     # a payload, "report" or "stream"
    reason: str = ""      # where nothing catches a lie
    told: str = ""        # how the read-back calls it; "" is HostConfig.name
    compared: bool = True  # the reason says why it is not
    often: bool = False   # lied about in every run of the suite

    @property
    def message(self):
        return self.told or f"HostConfig.{self.name.split()[0]}"


def config(**values):
    return lambda body: body.update(values)


def without_path(kind, path):
    def change(body):
        body["HostConfig"][kind] = [other for other in body["HostConfig"][kind] if other != path]
    return change


def set_runtime(body):
    body["HostConfig"]["Runtime"] = "runc"


def host_fields(directory, other):
    bind = f"{directory}:{directory}"
    mount = {"Type": "bind", "Source": str(directory), "Target": str(directory)}
    none_to_publish = "there is no network to publish to"
    return [
        Field("NetworkMode", network("host"), "C42-abstract-socket.pl", told="Config.NetworkDisabled", often=True),
        Field("IpcMode", ipc_of_host, "C55-shared-memory.pl"),
        Field("CgroupnsMode", host(CgroupnsMode="host"), "A11-cgroup-path.sh"),
        Field("PidMode", host(PidMode="host"), "stream", often=True),
        Field("UTSMode", lambda body: (body["HostConfig"].update(UTSMode="host"), body.update(Hostname="")), "C60-host-name.sh",
              told="Config.Hostname"),
        Field("UsernsMode", host(UsernsMode="host"), reason="only an engine with a user namespace of its own has one to lose"),
        Field("Privileged", host(Privileged=True), "report"),
        Field("PublishAllPorts", host(PublishAllPorts=True), reason=none_to_publish),
        Field("ReadonlyRootfs", host(ReadonlyRootfs=False), "A2-write-var-tmp.sh", often=True),
        Field("Init", host(Init=True), "stream"),
        Field("AutoRemove", host(AutoRemove=True), reason="the backend removes it itself; one that is gone sooner gives nothing"),
        Field("CapDrop", host(CapDrop=[]), "report", often=True),
        Field("CapAdd", host(CapAdd=["CAP_NET_RAW"]), "report"),
        Field("GroupAdd", host(GroupAdd=["0"]), "A1-other-groups.sh"),
        Field("SecurityOpt no-new-privileges", security(keep="seccomp="), reason="the guest sets no_new_privs as well", often=True),
        Field("SecurityOpt seccomp", security(keep="no-new", add=["seccomp=unconfined"]), "report", often=True),
        Field("MaskedPaths", host(MaskedPaths=[]), "A12-uncovered.sh"),
        Field("ReadonlyPaths", host(ReadonlyPaths=[]), "A10-uncovered.sh"),
        Field("Binds", host(Binds=[bind]), "A1-read-file.sh", told="Mounts", often=True),
        Field("Mounts", host(Mounts=[mount]), "A1-read-file.sh", told="Mounts"),
        Field("VolumesFrom", host(VolumesFrom=[other]), reason="what it gives are volumes, which Mounts stands for"),
        Field("Links", host(Links=[f"{other}:other"]), reason="a name without a network"),
        Field("Devices", host(Devices=[{"PathOnHost": "/dev/zero", "PathInContainer": "/dev/other", "CgroupPermissions": "r"}]),
              "A9-other-devices.sh"),
        Field("DeviceRequests", host(DeviceRequests=[{"Driver": "none-such", "Count": 1, "Capabilities": [["gpu"]]}]), "stream"),
        Field("DeviceCgroupRules", host(DeviceCgroupRules=["c 1:9 r"]), reason="no node can be made without CAP_MKNOD"),
        Field("PortBindings", host(PortBindings={"80/tcp": [{"HostPort": "0"}]}), reason=none_to_publish),
        Field("Sysctls", host(Sysctls={"kernel.msgmax": "4096"}), reason="engines take only those of the container's own namespaces"),
        Field("ExtraHosts", host(ExtraHosts=["other:192.0.2.1"]), reason="a name without a network"),
        Field("VolumeDriver", host(VolumeDriver="local"), reason="there is no volume to drive"),
        Field("Memory", host(Memory=0, MemorySwap=0), "D61-memory-bomb.c"),
        Field("MemorySwap", host(MemorySwap=-1), reason="only where the machine has swap; the memory limit stands"),
        Field("PidsLimit", host(PidsLimit=0), "B20-fork-bomb.sh", often=True),
        Field("NanoCpus", host(NanoCpus=0), reason="other runs become slower; B24-many-cores shows it where processors are idle"),
        Field("OomKillDisable", host(OomKillDisable=True), reason="the run then hangs at its limit until the wall clock ends it"),
        Field("OomScoreAdj", host(OomScoreAdj=500), reason="less than 0 takes CAP_SYS_RESOURCE of the engine; the limit stands"),
        Field("Ulimits core", without_limit("core"), reason="an engine with a limit of its own of 0 gives no more; in the scratch otherwise"),
        Field("Ulimits cpu", without_limit("cpu"), "B24-deaf-spinner.c"),
        Field("Ulimits fsize", without_limit("fsize"), "A15-large-file.sh"),
        Field("Ulimits nofile", without_limit("nofile"), "D64-descriptors.c"),
        Field("Tmpfs size", without_option("size="), "A15-fill-scratch.sh"),
        Field("Tmpfs nr_inodes", without_option("nr_inodes="), "A16-many-files.sh"),
        Field("Tmpfs nosuid", scratch(lambda options: [o for o in options if o != "nosuid"]), reason="no new privileges stands"),
        Field("Tmpfs nodev", scratch(lambda options: [o for o in options if o != "nodev"]), reason="no node can be made without CAP_MKNOD"),
        Field("LogConfig", host(LogConfig={"Type": "json-file", "Config": {}}), "D71-engine-log.sh"),
        Field("RestartPolicy", host(RestartPolicy={"Name": "always", "MaximumRetryCount": 0}), reason="it is removed before a second start"),
        Field("Dns", host(Dns=["192.0.2.1"]), reason="a name server without a network"),
        Field("CpuShares", host(CpuShares=512), reason="not asked for, and weaker than the quota"),
        Field("CpusetCpus", host(CpusetCpus="0"), reason="not asked for, and takes away only"),
        Field("Runtime", set_runtime, reason="the engine's default where the policy names none", compared=False),
        Field("ShmSize", host(ShmSize=1 << 20), reason="of a /dev/shm that the engine does not mount here", compared=False),
    ]


def config_fields():
    return [
        Field("User", lambda body: body.update(User="0:0"), "stream", told="Config.User", often=True),
        Field("Hostname", config(Hostname="other"), "C60-host-name.sh", told="Config.Hostname"),
        Field("Domainname", config(Domainname="other.example"), reason="a name", told="Config.Domainname"),
        Field("WorkingDir", config(WorkingDir="/tmp"), reason="the guest goes to its own", told="Config.WorkingDir"),
        Field("Entrypoint", config(Entrypoint=["/bin/sh", "-c", "echo other; sleep 1", "x"]), "stream", told="Config.Entrypoint"),
        Field("Cmd", config(Cmd=["other"]), "stream", told="Config.Cmd"),
        Field("Tty", config(Tty=True), "stream", told="Config.Tty"),
        Field("Healthcheck", config(Healthcheck={"Test": ["CMD", "true"]}), reason="one more program of the image, as the same user",
              told="Config.Healthcheck"),
        Field("OpenStdin", config(OpenStdin=False), "stream", told="Config.OpenStdin"),
        Field("StdinOnce", config(StdinOnce=False), reason="the program's input is a file", told="Config.StdinOnce"),
        Field("Volumes", config(Volumes={"/data": {}}), reason="on disk instead of memory, of the ordinary user, removed with the container",
              told="Mounts"),
        Field("NetworkDisabled", config(NetworkDisabled=False), reason="NetworkMode none stands", told="Config.NetworkDisabled"),
        Field("Labels", lambda body: body["Labels"].update({"code-execute.boot": "x"}), reason="only the sweep reads them",
              told="Config.Labels.code-execute.boot"),
        Field("Env", lambda body: body["Env"].append("OTHER=x"), reason="comes from the image too, and the run's variables come before it",
              compared=False),
        Field("ExposedPorts", config(ExposedPorts={"80/tcp": {}}), reason="comes from the image too; there is no network", compared=False),
        Field("AttachStderr", config(AttachStderr=False), reason="a hint to clients; the backend says by itself what it attaches to",
              compared=False),
    ]


def path_fields():
    covered = ("acpi asound interrupts kcore keys latency_stats sched_debug scsi sysrq-trigger timer_list timer_stats").split()
    found = [(f"/proc/{name}", "MaskedPaths", "A12-uncovered.sh") for name in covered] + [("/sys", "MaskedPaths", "A12-uncovered.sh")]
    found += [(f"/proc/{name}", "ReadonlyPaths", "A10-uncovered.sh") for name in ("bus", "fs", "irq", "sys")]
    for path, kind, catcher in found:
        there = pathlib.Path(path).exists()
        yield Field(f"{kind} {path}", without_path(kind, path), catcher if there else "", "" if there else "this kernel does not have it")


def opened(calls):
    """All of the calls without a condition."""
    def edit(profile):
        profile["syscalls"] = [rule for rule in profile["syscalls"] if not set(rule["names"]) & set(calls)] + [
            {**rule, "names": sorted(set(rule["names"]) - set(calls))} for rule in profile["syscalls"]
            if set(rule["names"]) & set(calls) and set(rule["names"]) - set(calls)]
        profile["syscalls"].append({"names": sorted(calls), "action": "SCMP_ACT_ALLOW", "args": []})
    return seccomp(edit)


def seccomp_fields():
    listed = json.loads(CALLS.read_text())
    catchers = {"personality": "C57-personality.c", "new namespaces": "C53-clone-high-bits.c", "terminal input": "C41-terminal-input.c",
                "calls with a fallback": "C52-clone3.c", "namespaces and mounts": "A5-unshare-user.c", "other processes": "C36-trace-child.c",
                "large kernel surfaces": "C50-keyring.c", "attacks": "C50-kexec.c", "watching files": "C55-watch-files.c",
                "huge pages of a map": "D63-huge-pages.c", "huge pages of a memory file": "D63-huge-pages.c",
                "the first process": "C56-limit-first-process.c", "the first process's priority": "B31-slow-first-process.c",
                "leases and notices": "C55-lease-file.c", "protocols with network": "C44-netlink.c"}
    reasons = {"the machine": "the capabilities that these calls want are absent",
               "exit request": "the kernel has nothing behind the call",
               "huge pages of a shared memory": "the kernel wants a privilege for it"}
    groups = [group for key in ("refuse", "kill", "guard", "absent") for group in listed[key]
              if "blueprint" not in group and group.get("network") != "endpoints"]
    groups += [group for group in listed["allow"] if "when" in group]
    for group in groups:
        name = group["name"]
        catcher = catchers.get(name) or ("C44-netlink.c" if "socket" in name else "")
        yield Field(f"SecurityOpt seccomp: {name}", opened(group["syscalls"]), catcher, reasons.get(name, ""),
                    often=name == "namespaces and mounts")

    def by_default(profile):
        profile["defaultAction"] = "SCMP_ACT_ALLOW"
        profile.pop("defaultErrnoRet")

    def more_interfaces(profile):
        # 32-bit programs reach socket() through socketcall(), for which libseccomp cannot say what a guard leaves over.
        profile["syscalls"] = [rule for rule in profile["syscalls"] if not rule.get("args") or "socket" not in rule["names"]]
        profile["syscalls"].append({"names": ["socket", "socketpair"], "action": "SCMP_ACT_ALLOW", "args": []})
        for entry in profile["archMap"]:
            entry["subArchitectures"] = ["SCMP_ARCH_X86", "SCMP_ARCH_X32"] if "X86" in entry["architecture"] else entry["subArchitectures"]

    yield Field("SecurityOpt seccomp: default", seccomp(by_default), "C58-new-call.c")
    yield Field("SecurityOpt seccomp: interfaces", seccomp(more_interfaces), "C51-i386-call.c")


def fields(directory, other):
    return host_fields(directory, other) + config_fields() + list(path_fields()) + list(seccomp_fields())
