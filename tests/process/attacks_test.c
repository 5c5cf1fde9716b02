/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts to get out, each with its positive control: the same code without isolation prints
 * "reached" (unless it says why it cannot), in the sandbox it must not. What can be touched outside
 * is this test's own: a directory, listening sockets, this process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../plugin/cleanup.h"
#include "suite.h"

/* What the attacks aim at, as environment variables. */
static struct {
    char directory[64];
    int tcp;
    int abstract_socket;
    char variables[5][128];
} canary;

static void plant_file(void)
{
    char path[128];
    (void)snprintf(canary.directory, sizeof(canary.directory), "/tmp/canary-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(canary.directory));
    ck_assert_int_eq(chmod(canary.directory, 0777), 0);
    (void)snprintf(path, sizeof(path), "%s/file", canary.directory);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    (void)fputs("reached\n", file);
    (void)fclose(file);
    ck_assert_int_eq(chmod(path, 0666), 0);
}

static unsigned int listen_tcp(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    canary.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(canary.tcp, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(canary.tcp, 8), 0);
    ck_assert_int_eq(getsockname(canary.tcp, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

static void listen_abstract(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "canary-%d", getpid());
    canary.abstract_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(canary.abstract_socket, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
                     0);
    ck_assert_int_eq(listen(canary.abstract_socket, 8), 0);
}

static void plant(void)
{
    plant_file();
    unsigned int port = listen_tcp();
    listen_abstract();
    size_t size = sizeof(canary.variables[0]);
    (void)snprintf(canary.variables[0], size, "PATH=/usr/bin:/bin");
    (void)snprintf(canary.variables[1], size, "DIRECTORY=%s", canary.directory);
    (void)snprintf(canary.variables[2], size, "PORT=%u", port);
    (void)snprintf(canary.variables[3], size, "ABSTRACT=canary-%d", getpid());
    (void)snprintf(canary.variables[4], size, "PROCESS=%d", getpid());
}

static void clear(void)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/file", canary.directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/written", canary.directory);
    (void)unlink(path);
    (void)rmdir(canary.directory);
    close_fd(canary.tcp);
    close_fd(canary.abstract_socket);
}

/* Python, behind "import os,socket,ctypes,sys; c=ctypes.CDLL(None,use_errno=True); e=os.environ".
 */
struct attack {
    const char *name;
    const char *code;
    bool no_control; /* is refused for an ordinary process too, or would harm */
};

#define SYSTEM_CALL(call)                                                                      \
    "r=c.syscall(" call ")\nprint('reached' if r>=0 or ctypes.get_errno() not in (1,38) else " \
    "'no')"

static const struct attack attacks[] = {
    {"read a file outside", "print(open(e['DIRECTORY']+'/file').read())", false},
    {"write a file outside", "open(e['DIRECTORY']+'/written','w').write('x');print('reached')",
     false},
    {"list the root's home",
     "print('reached' if os.path.exists('/root') or os.path.exists('/var') else 'no')", false},
    {"read shadow", "print('reached' if os.path.exists('/etc/shadow') else 'no')", false},
    {"write to /", "open('/written','w');print('reached')", true},
    {"write to /usr", "open('/usr/written','w');print('reached')", true},
    {"write to /etc/passwd", "open('/etc/passwd','a');print('reached')", true},
    {"climb out", "os.chdir('../../../../..');print('reached' if os.path.exists('root') else 'no')",
     false},
    {"through /proc/1/root", "print(os.listdir('/proc/1/root/root'));print('reached')", true},
    {"through /proc/self/root",
     "print('reached' if os.path.exists('/proc/self/root/root') else 'no')", false},
    {"make a device", "os.mknod('/tmp/device',0o20666,os.makedev(1,1));print('reached')", true},
    {"proc sys", "open('/proc/sys/kernel/core_pattern');print('reached')", false},
    {"proc kallsyms", "open('/proc/kallsyms');print('reached')", false},
    {"write to proc", "open('/proc/self/comm','w').write('x');print('reached')", false},
    {"sys", "print('reached' if os.path.exists('/sys/kernel') else 'no')", false},
    {"environ of pid 1", "open('/proc/1/environ').read();print('reached')", true},
    {"exe of pid 1", "os.readlink('/proc/1/exe');print('reached')", true},
    {"write exe of pid 1", "os.open('/proc/1/exe',os.O_WRONLY);print('reached')", true},
    {"descriptors of pid 1", "os.listdir('/proc/1/fd');print('reached')", true},
    {"memory of pid 1", "open('/proc/1/mem','rb');print('reached')", true},
    {"see an outer process",
     "print('reached' if os.path.exists('/proc/'+e['PROCESS']+'/stat') else 'no')", false},
    {"signal an outer process", "os.kill(int(e['PROCESS']),0);print('reached')", false},
    {"signal everything is harmless", "os.kill(1,9);print('no')", true},
    {"tcp connect", "socket.create_connection(('127.0.0.1',int(e['PORT'])),2);print('reached')",
     false},
    {"udp socket", "socket.socket(socket.AF_INET,socket.SOCK_DGRAM);print('reached')", false},
    {"ipv6 socket", "socket.socket(socket.AF_INET6);print('reached')", false},
    {"family behind high bits",
     "r=c.syscall(41,ctypes.c_ulong((1<<40)|2),1,0);print('reached' if r>=0 else 'no')", false},
    {"netlink socket", "socket.socket(16,3,0);print('reached')", false},
    {"packet socket", "socket.socket(17,3,0);print('reached')", true},
    {"alg socket", "socket.socket(38,5,0);print('reached')", true},
    {"vsock socket", "socket.socket(40,1,0);print('reached')", true},
    {"abstract socket",
     "s=socket.socket(socket.AF_UNIX);s.connect('\\0'+e['ABSTRACT']);print('reached')", false},
    {"unshare user", "print('reached' if c.unshare(0x10000000)==0 else 'no')", false},
    {"clone user namespace",
     "r=c.syscall(56,ctypes.c_ulong(0x10000000|17),0,0,0,0)\n"
     "if r==0: os._exit(0)\n"
     "print('reached' if r>0 else 'no')",
     false},
    {"clone user namespace, high bits",
     "r=c.syscall(56,ctypes.c_ulong((1<<40)|0x10000000|17),0,0,0,0)\n"
     "if r==0: os._exit(0)\n"
     "print('reached' if r>0 else 'no')",
     true},
    {"clone as sibling",
     "r=c.syscall(56,ctypes.c_ulong(0x8000|17),0,0,0,0)\n"
     "if r==0: os._exit(0)\n"
     "print('reached' if r>0 else 'no')",
     false},
    {"clone3", "r=c.syscall(435,0,0)\nprint('no' if ctypes.get_errno()==38 else 'reached')", false},
    {"traceme", SYSTEM_CALL("101,0,0,0,0"), false},
    {"process_vm_readv", SYSTEM_CALL("310,1,0,0,0,0,0"), true},
    {"mount", SYSTEM_CALL("165,b'none',b'/tmp',b'tmpfs',0,0"), true},
    {"fsopen", SYSTEM_CALL("430,b'tmpfs',0"), true},
    {"open_tree", SYSTEM_CALL("428,-100,b'/',0"), false},
    {"pivot_root", SYSTEM_CALL("155,b'/tmp',b'/tmp'"), true},
    {"chroot", SYSTEM_CALL("161,b'/tmp'"), true},
    {"setns", SYSTEM_CALL("308,0,0"), false},
    {"io_uring", SYSTEM_CALL("425,1,0"), false},
    {"bpf", SYSTEM_CALL("321,99,0,0"), true},
    {"userfaultfd", SYSTEM_CALL("323,1"), true},
    {"perf_event_open", SYSTEM_CALL("298,0,0,0,0,0"), false},
    {"keyctl", SYSTEM_CALL("250,0,-3,0"), false},
    {"personality", SYSTEM_CALL("135,0x0040000"), false},
    {"terminal input", SYSTEM_CALL("16,0,ctypes.c_ulong(0x5412),b'x'"), false},
    {"terminal input, high bits", SYSTEM_CALL("16,0,ctypes.c_ulong((1<<40)|0x5412),b'x'"), false},
    {"set the clock", SYSTEM_CALL("227,0,0"), true},
    {"become root", "os.setuid(0);print('reached')", true},
    {"raise a limit",
     "import resource as r\nr.setrlimit(r.RLIMIT_NOFILE,(1<<19,1<<19));print('reached')", true},
    {"core limit",
     "import resource as r\nprint('reached' if r.getrlimit(r.RLIMIT_CORE)[1]!=0 else 'no')", true},
    {"more priority", "os.nice(-5);print('reached')", true},
    {"an inherited descriptor",
     "n=[f for f in os.listdir('/proc/self/fd') if int(f)>3]\nprint('reached',n) if n else "
     "print('no')",
     true},
};

static void attempt(const struct attack *attack, uint32_t isolation)
{
    char code[2048];
    (void)snprintf(code, sizeof(code),
                   "import os,socket,ctypes,sys\nc=ctypes.CDLL(None,use_errno=True)\n"
                   "e=os.environ\n%s",
                   attack->code);
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.isolation = isolation;
    description.environment = WORDS(canary.variables[0], canary.variables[1], canary.variables[2],
                                    canary.variables[3], canary.variables[4]);
    run(&backend, &description, &outcome);
}

START_TEST(attacks_reach_nothing)
{
    plant();
    for (size_t i = 0; i < COUNT_OF(attacks); i++) {
        attempt(&attacks[i], RUN_ISOLATION_SANDBOX);
        ck_assert_msg(outcome.started, "%s: not started: %s", attacks[i].name, outcome.end.message);
        ck_assert_msg(!strstr(outcome.output, "reached"), "%s: %s", attacks[i].name,
                      outcome.output);
        ck_assert_msg(outcome.end.cause == RUN_CAUSE_EXIT &&
                          (strstr(outcome.output, "no\n") || strstr(outcome.errors, "Error")),
                      "%s: was not tried: %s %s", attacks[i].name, outcome.output, outcome.errors);
    }
    clear();
}
END_TEST

START_TEST(controls_reach)
{
    plant();
    for (size_t i = 0; i < COUNT_OF(attacks); i++) {
        if (attacks[i].no_control)
            continue;
        attempt(&attacks[i], RUN_ISOLATION_NONE);
        ck_assert_msg(strstr(outcome.output, "reached"), "%s: %s%s", attacks[i].name,
                      outcome.output, outcome.errors);
    }
    clear();
}
END_TEST

/* i386's getpid through int 0x80, and the x32 number of getpid. */
static const char *const foreign_calls[] = {
    "import mmap,ctypes\nm=mmap.mmap(-1,4096,prot=7)\n"
    "m.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')\n"
    "print('reached',ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))"
    "())",
    "import ctypes\nprint('reached',ctypes.CDLL(None).syscall(0x40000000|39))",
    "import ctypes\nprint('reached',ctypes.CDLL(None).syscall(246,0,0,0,0))",
};

START_TEST(foreign_and_absurd_calls_kill)
{
    for (size_t i = 0; i < COUNT_OF(foreign_calls); i++) {
        struct run_description description = describe(WORDS("python3", "-c", foreign_calls[i]));
        run(&backend, &description, &outcome);
        expect_cause(&outcome, RUN_CAUSE_FORBIDDEN_SYSCALL);
        ck_assert_int_eq(outcome.end.signal, SIGSYS);
        ck_assert_ptr_null(strstr(outcome.output, "reached"));
    }
}
END_TEST

START_TEST(network_only_where_allowed)
{
    plant();
    const struct attack *connect = NULL;
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        if (strcmp(attacks[i].name, "tcp connect") == 0)
            connect = &attacks[i];
    ck_assert_ptr_nonnull(connect);
    char code[512];
    (void)snprintf(code, sizeof(code), "import os,socket\ne=os.environ\n%s", connect->code);
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.environment = WORDS(canary.variables[0], canary.variables[2]);
    description.network = 1;
    expect_output(&description, "reached\n");
    ck_assert_uint_eq(outcome.end.isolation.applied & LAYER_BIT(LAYER_NETWORK_NAMESPACE), 0);
    ck_assert_uint_eq(outcome.end.isolation.missing & LAYER_BIT(LAYER_NETWORK_NAMESPACE), 0);
    static const char *const others[] = {"16,3,0", "17,3,0", "38,5,0", "40,1,0"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        (void)snprintf(code, sizeof(code), "import socket\nsocket.socket(%s);print('reached')",
                       others[i]);
        description.argv = WORDS("python3", "-c", code);
        run(&backend, &description, &outcome);
        ck_assert_str_eq(outcome.output, "");
    }
    clear();
}
END_TEST

/* A run cannot see another's files and processes. */
START_TEST(runs_are_apart)
{
    struct run_description first =
        describe(WORDS("sh", "-c", "echo secret > /tmp/x; echo secret > /dev/shm/x; sleep 1"));
    struct running running = run_begin(&backend, &first);
    run_await_start(&running);
    (void)usleep(200000);
    struct run_description second = describe(WORDS(
        "sh", "-c",
        "cat /tmp/x /dev/shm/x 2>/dev/null; ls /proc | grep -c '^[0-9]'; ps ax | grep -c sle[e]p"));
    run(&backend, &second, &outcome);
    ck_assert_ptr_null(strstr(outcome.output, "secret"));
    ck_assert_str_eq(outcome.output + strlen(outcome.output) - 2, "0\n");
    run_finish(&running, &outcome);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        attacks_reach_nothing,      controls_reach, foreign_and_absurd_calls_kill,
        network_only_where_allowed, runs_are_apart, NULL,
    };
    return suite_main("attacks", tests);
}
