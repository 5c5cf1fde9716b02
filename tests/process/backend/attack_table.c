/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the catalogue: see attacks.h. */
#include "attacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "canary.h"

/* Refused by the machine itself, to this user: nothing to compare with. */
static const char *refused_by_machine(long number, long first, long second, long third)
{
    static char reasons[8][80];
    static size_t used;
    errno = 0;
    CLEANUP_CLOSE int fd = (int)syscall(number, first, second, third, 0, 0);
    int error = errno;
    if (fd >= 0 || (error != EPERM && error != EACCES && error != ENOSYS && error != EAFNOSUPPORT))
        return NULL;
    char *reason = reasons[used++ % COUNT_OF(reasons)];
    (void)snprintf(reason, sizeof(reasons[0]), "this kernel refuses it to this user: %s",
                   strerror(error));
    return reason;
}

static const char *lacks_alg(void)
{
    return refused_by_machine(SYS_socket, 38, 5, 0);
}

static const char *lacks_vsock(void)
{
    return refused_by_machine(SYS_socket, 40, 1, 0);
}

static const char *lacks_ipv6(void)
{
    return refused_by_machine(SYS_socket, 10, 1, 0);
}

static const char *lacks_io_uring(void)
{
    return refused_by_machine(SYS_io_uring_setup, 1, 0, 0);
}

static const char *lacks_userfaultfd(void)
{
    return refused_by_machine(SYS_userfaultfd, 1, 0, 0);
}

static const char *lacks_perf(void)
{
    return refused_by_machine(SYS_perf_event_open, 0, 0, 0);
}

static const char *lacks_core(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max
               ? NULL
               : "this test has a core limit of 0 itself";
}

/* Root may be without CAP_SYS_RESOURCE. In a process of its own, as it may succeed. */
static const char *lacks_raising(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit;
        int failed = getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_max++;
        _exit(failed || setrlimit(RLIMIT_NOFILE, &limit) < 0);
    }
    return waitpid(pid, &status, 0) == pid && status == 0
               ? NULL
               : "this user may not raise a hard limit (CAP_SYS_RESOURCE)";
}

#if defined(__x86_64__)
/* getpid through int 0x80, in a process that may die of it. */
static const char *lacks_i386(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        long number = 20;
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
        _exit(number == getpid() ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? NULL : "this kernel has no i386 calls";
}
#endif

#define DIGITS(number) #number
#define NUMBER(name)   #name "=" DIGITS(name) "\n"

/* clang-format off */
const char attack_numbers[] =
    NUMBER(SYS_bpf) NUMBER(SYS_chroot) NUMBER(SYS_clock_settime) NUMBER(SYS_clone)
    NUMBER(SYS_clone3) NUMBER(SYS_fsopen) NUMBER(SYS_io_uring_setup) NUMBER(SYS_ioctl)
    NUMBER(SYS_kexec_load) NUMBER(SYS_keyctl) NUMBER(SYS_mount) NUMBER(SYS_open_tree)
    NUMBER(SYS_perf_event_open) NUMBER(SYS_personality) NUMBER(SYS_pivot_root)
    NUMBER(SYS_process_vm_readv) NUMBER(SYS_ptrace) NUMBER(SYS_setns) NUMBER(SYS_socket)
    NUMBER(SYS_userfaultfd);
/* clang-format on */

#define SYSTEM_CALL(call)                                                                      \
    "r=c.syscall(" call ")\nprint('reached' if r>=0 or ctypes.get_errno() not in (1,38) else " \
    "'no')"
#define CLONE(flags)                                             \
    "r=c.syscall(SYS_clone,ctypes.c_ulong(" flags "),0,0,0,0)\n" \
    "if r==0: os._exit(0)\n"                                     \
    "print('reached' if r>0 else 'no')"
#define PRINT_IF(condition) "print('reached' if " condition " else 'no')"
#define WORD                EVIDENCE_WORD
#define TOKEN               EVIDENCE_TOKEN

const struct attack attacks[] = {
    /* files */
    {"read a file outside", "print(open(e['DIRECTORY']+'/file').read())", TOKEN, 0, NULL, 0},
    {"write a file outside", "open(e['DIRECTORY']+'/written','w').write('x')", EVIDENCE_FILE, 0,
     NULL, 0},
    {"list the root's home", PRINT_IF("os.path.exists('/root') or os.path.exists('/var')"), WORD, 0,
     NULL, 0},
    {"read shadow", PRINT_IF("os.path.exists('/etc/shadow')"), WORD, 0, NULL, 0},
    {"write to /", "open('/written','w');print('reached')", EVIDENCE_ROOT, CONTROL_THROWAWAY, NULL,
     0},
    {"write to /usr", "open('/usr/written','w');print('reached')", EVIDENCE_ROOT, CONTROL_THROWAWAY,
     NULL, 0},
    {"write to /etc/passwd", "open('/etc/passwd','a').write('x');print('reached')", EVIDENCE_ROOT,
     CONTROL_THROWAWAY, NULL, 0},
    {"climb out", "os.chdir('../../../../..');" PRINT_IF("os.path.exists('root')"), WORD, 0, NULL,
     0},
    {"through /proc/self/root", PRINT_IF("os.path.exists('/proc/self/root/root')"), WORD, 0, NULL,
     0},
    {"make a device", "os.mknod('device',0o20666,os.makedev(1,1));print('reached')", WORD,
     CONTROL_ROOT, NULL, 0},
    {"proc sys", "open('/proc/sys/kernel/core_pattern');print('reached')", WORD, 0, NULL, 0},
    {"proc kallsyms", "open('/proc/kallsyms');print('reached')", WORD, 0, NULL, 0},
    {"write to proc", "open('/proc/self/comm','w').write('x');print('reached')", WORD, 0, NULL, 0},
    {"sys", PRINT_IF("os.path.exists('/sys/kernel')"), WORD, 0, NULL, 0},
    {"an inherited descriptor",
     "for f in os.listdir('/proc/self/fd'):\n"
     " if int(f)<4: continue\n print('reached')\n try: print(os.pread(int(f),32,0))\n"
     " except OSError: pass\nprint('no')",
     TOKEN, CONTROL_BARE, NULL, 0},
    /* other processes: pid 1 of the sandbox, the target in the control */
    {"root of pid 1", "print(open('/proc/'+e['PEEK']+'/root'+e['DIRECTORY']+'/file').read())",
     TOKEN, 0, NULL, 0},
    {"environ of pid 1", "print(open('/proc/'+e['PEEK']+'/environ').read(),'reached')", TOKEN, 0,
     NULL, 0},
    {"exe of pid 1", "os.readlink('/proc/'+e['PEEK']+'/exe');print('reached')", WORD, 0, NULL, 0},
    /* A program that runs is busy: it is the permission that counts. */
    {"write exe of pid 1",
     "try: os.open('/proc/'+e['PEEK']+'/exe',os.O_WRONLY)\n"
     "except OSError as x: print('reached' if x.errno==26 else 'no')\n"
     "else: print('reached')",
     WORD, CONTROL_ROOT, NULL, 0},
    {"descriptors of pid 1",
     "d='/proc/'+e['PEEK']+'/fd/'\nl=os.listdir(d);print('reached')\n"
     "for f in l:\n if 'canary' in os.readlink(d+f): print(open(d+f).read())",
     TOKEN, 0, NULL, 0},
    {"memory of pid 1",
     "f=open('/proc/'+e['PEEK']+'/mem','rb',0);print('reached')\n"
     "f.seek(int(e['ADDRESS']));print(f.read(32))",
     TOKEN, 0, NULL, 0},
    {"process_vm_readv",
     "b=ctypes.create_string_buffer(32)\n"
     "V=type('V',(ctypes.Structure,),{'_fields_':[('p',ctypes.c_void_p),('n',ctypes.c_size_t)]})\n"
     "l=V(ctypes.addressof(b),32);r=V(int(e['ADDRESS']),32)\n"
     "n=c.syscall(SYS_process_vm_readv,int(e['PEEK']),ctypes.byref(l),1,ctypes.byref(r),1,ctypes.c_"
     "long(0))\n"
     "print(b.raw,'no' if ctypes.get_errno() in (1,38) else 'reached')",
     TOKEN, 0, NULL, 0},
    {"seize pid 1", SYSTEM_CALL("SYS_ptrace,0x4206,int(e['PEEK']),0,0"), WORD, 0, NULL, 0},
    {"traceme", SYSTEM_CALL("SYS_ptrace,0,0,0,0"), WORD, 0, NULL, 0},
    {"kill pid 1", "os.kill(int(e['PEEK']),9);print('no')", EVIDENCE_DEATH, 0, NULL, 0},
    {"see an outer process", PRINT_IF("os.path.exists('/proc/'+e['TARGET']+'/stat')"), WORD, 0,
     NULL, 0},
    {"kill an outer process", "os.kill(int(e['TARGET']),9);print('reached')", EVIDENCE_DEATH, 0,
     NULL, 0},
    /* network */
    {"tcp connect", "socket.create_connection(('127.0.0.1',int(e['PORT'])),2)", EVIDENCE_CONNECTION,
     0, NULL, 0},
    {"udp send",
     "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
     "s.sendto(b'x',('127.0.0.1',int(e['UDP_PORT'])))",
     EVIDENCE_CONNECTION, 0, NULL, 0},
    {"abstract socket", "s=socket.socket(socket.AF_UNIX);s.connect('\\0'+e['ABSTRACT'])",
     EVIDENCE_CONNECTION, 0, NULL, 0},
    {"ipv6 socket", "socket.socket(socket.AF_INET6);print('reached')", WORD, 0, lacks_ipv6, 0},
    {"family behind high bits",
     "r=c.syscall(SYS_socket,ctypes.c_ulong((1<<40)|2),1,0);" PRINT_IF("r>=0"), WORD, 0, NULL, 0},
    {"netlink socket", "socket.socket(16,3,0);print('reached')", WORD, 0, NULL, 0},
    {"packet socket", "socket.socket(17,3,0);print('reached')", WORD, CONTROL_ROOT, NULL, 0},
    {"alg socket", "socket.socket(38,5,0);print('reached')", WORD, 0, lacks_alg, 0},
    {"vsock socket", "socket.socket(40,1,0);print('reached')", WORD, 0, lacks_vsock, 0},
    /* namespaces and mounts */
    {"unshare user", PRINT_IF("c.unshare(0x10000000)==0"), WORD, 0, NULL, 0},
    {"clone user namespace", CLONE("0x10000000|17"), WORD, 0, NULL, 0},
    {"clone user namespace, high bits", CLONE("(1<<40)|0x10000000|17"), WORD, 0, NULL, 0},
    {"clone as sibling", CLONE("0x8000|17"), WORD, 0, NULL, 0},
    {"clone3", "r=c.syscall(SYS_clone3,0,0)\n" PRINT_IF("ctypes.get_errno()!=38"), WORD, 0, NULL,
     0},
    {"mount", SYSTEM_CALL("SYS_mount,b'none',e['DIRECTORY'].encode(),b'tmpfs',0,0"), WORD,
     CONTROL_ROOT, NULL, 0},
    {"fsopen", SYSTEM_CALL("SYS_fsopen,b'tmpfs',0"), WORD, CONTROL_ROOT, NULL, 0},
    {"open_tree", SYSTEM_CALL("SYS_open_tree,-100,b'/',0"), WORD, 0, NULL, 0},
    {"pivot_root", SYSTEM_CALL("SYS_pivot_root,b'/tmp',b'/tmp'"), WORD, CONTROL_ROOT, NULL, 0},
    {"chroot", SYSTEM_CALL("SYS_chroot,b'/tmp'"), WORD, CONTROL_ROOT, NULL, 0},
    {"setns", SYSTEM_CALL("SYS_setns,0,0"), WORD, 0, NULL, 0},
    /* the kernel's large surfaces */
    {"io_uring", SYSTEM_CALL("SYS_io_uring_setup,1,0"), WORD, 0, lacks_io_uring, 0},
    {"bpf", SYSTEM_CALL("SYS_bpf,99,0,0"), WORD, CONTROL_ROOT, NULL, 0},
    {"userfaultfd", SYSTEM_CALL("SYS_userfaultfd,1"), WORD, 0, lacks_userfaultfd, 0},
    {"perf_event_open", SYSTEM_CALL("SYS_perf_event_open,0,0,0,0,0"), WORD, 0, lacks_perf, 0},
    {"keyctl", SYSTEM_CALL("SYS_keyctl,0,-3,0"), WORD, 0, NULL, 0},
    {"personality", SYSTEM_CALL("SYS_personality,0x0040000"), WORD, 0, NULL, 0},
    {"terminal input", SYSTEM_CALL("SYS_ioctl,0,ctypes.c_ulong(0x5412),b'x'"), WORD, 0, NULL, 0},
    {"terminal input, high bits", SYSTEM_CALL("SYS_ioctl,0,ctypes.c_ulong((1<<40)|0x5412),b'x'"),
     WORD, 0, NULL, 0},
    {"set the clock", SYSTEM_CALL("SYS_clock_settime,0,0"), WORD, 0, NULL, 0},
    /* Too many segments: refused where it exists, before anything is changed. */
    {"kexec", "c.syscall(SYS_kexec_load,0,1<<20,0,0);print('reached')", WORD, 0, NULL, true},
#if defined(__x86_64__) /* AArch64 has no way from 64-bit code to the 32-bit calls */
    {"i386 call",
     "import mmap\nm=mmap.mmap(-1,4096,prot=7)\n"
     "m.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')\n"
     "f=ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\n"
     "print('reached' if f()==os.getpid() else 'no')",
     WORD, 0, lacks_i386, true},
    {"x32 call", "c.syscall(0x40000000|39);print('reached')", WORD, 0, NULL, true},
#endif
    /* rights and limits */
    {"become root", "os.setuid(0);print('reached')", WORD, CONTROL_ROOT, NULL, 0},
    {"raise a limit",
     "import resource as "
     "r\nh=r.getrlimit(r.RLIMIT_NOFILE)[1]+1\nr.setrlimit(r.RLIMIT_NOFILE,(h,h));print('reached')",
     WORD, 0, lacks_raising, 0},
    {"core limit", "import resource as r\n" PRINT_IF("r.getrlimit(r.RLIMIT_CORE)[1]!=1"), WORD,
     CONTROL_BARE, lacks_core, 0},
    {"more priority", "os.nice(-5);print('reached')", WORD, CONTROL_ROOT, NULL, 0},
};

const size_t attack_count = COUNT_OF(attacks);
