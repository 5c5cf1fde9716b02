/* SPDX-License-Identifier: Apache-2.0 */
/* Real programs run well under every layer. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "suite.h"

static const struct {
    const char *name;
    const char *option;
    const char *code;
} one_liners[] = {
    {"sh", "-c", "echo 42"},           {"bash", "-c", "echo $((6*7)) | cat"},
    {"zsh", "-c", "print 42"},         {"perl", "-e", "print \"42\\n\""},
    {"ruby", "-e", "puts 42"},         {"php", "-r", "echo \"42\\n\";"},
    {"lua", "-e", "print(42)"},        {"python3", "-c", "print(42)"},
    {"node", "-e", "console.log(42)"},
};

START_TEST(language_prints)
{
    struct run_description description =
        describe(WORDS(one_liners[_i].name, one_liners[_i].option, one_liners[_i].code));
    expect_output(&description, "42\n");
    ck_assert(outcome.started);
    ck_assert_uint_eq(outcome.end.isolation.applied & LAYERS_MANDATORY, LAYERS_MANDATORY);
}
END_TEST

static const char *const python_codes[] = {
    "import threading\n"
    "l=[]\nt=[threading.Thread(target=l.append,args=(i,)) for i in range(8)]\n"
    "[x.start() for x in t];[x.join() for x in t]\nprint(len(l)==8)",
    "import "
    "subprocess\nprint(subprocess.run(['/bin/echo','a'],capture_output=True).stdout==b'a\\n')",
    "import multiprocessing as m\n"
    "def f(x): return x*x\n"
    "with m.get_context('fork').Pool(2) as p: print(sum(p.map(f,range(4)))==14)",
    "import asyncio\nasync def f():\n await asyncio.sleep(0.01)\n return "
    "True\nprint(asyncio.run(f()))",
    "import asyncio\nasync def f():\n p=await asyncio.create_subprocess_exec('true')\n"
    " return await p.wait()==0\nprint(asyncio.run(f()))",
    "import "
    "tempfile\nf=tempfile.NamedTemporaryFile();f.write(b'x');f.flush();print(f.name[:5]=='/tmp/')",
    "import os\nprint(os.getcwd()==os.environ['HOME']==os.path.expanduser('~')=='/home/sandbox')",
    "import mmap,os\nm=mmap.mmap(-1,4096);m[0]=1;print(m[0]==1)",
    "import socket\na,b=socket.socketpair();a.send(b'x');print(b.recv(1)==b'x')",
    "import select,os\nr,w=os.pipe();p=select.epoll();p.register(r);os.write(w,b'x');"
    "print(len(p.poll(1))==1)",
    "import sqlite3\nc=sqlite3.connect('t.db');c.execute('create table "
    "t(a)');c.commit();print(True)",
    "import os\nopen('/dev/null','w').write('x');print(os.isatty(0)==False)",
    "import ctypes\nprint(ctypes.CDLL(None).getpid()>1)",
    "open('/dev/stdout','w').write('True\\n')",
};

START_TEST(python_has_its_machinery)
{
    for (size_t i = 0; i < COUNT_OF(python_codes); i++) {
        struct run_description description = describe(WORDS("python3", "-c", python_codes[i]));
        expect_output(&description, "True\n");
    }
}
END_TEST

START_TEST(node_has_its_machinery)
{
    static const char code[] =
        "const {Worker}=require('worker_threads'),cp=require('child_process'),fs=require('fs');"
        "fs.writeFileSync('a.txt','x');"
        "const w=new Worker('require(\"worker_threads\").parentPort.postMessage(1)',{eval:true});"
        "w.on('message',()=>console.log(cp.execSync('cat a.txt').toString()))";
    struct run_description description = describe(WORDS("node", "-e", code));
    expect_output(&description, "x\n");
}
END_TEST

START_TEST(files_and_environment_arrive)
{
    struct run_file files[] = {
        {.path = (char *)(uintptr_t) "a/b/c.txt",
         .content = (unsigned char *)(uintptr_t) "deep",
         .length = 4},
        {.path = (char *)(uintptr_t) "empty",
         .content = (unsigned char *)(uintptr_t) "",
         .length = 0},
    };
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description =
            describe(WORDS("sh", "-c", "cat a/b/c.txt empty; echo $GREETING $USER"));
        description.isolation = isolation;
        description.environment = WORDS("PATH=/usr/bin:/bin", "GREETING=hello");
        description.files = files;
        description.file_count = 2;
        expect_output(&description, "deephello sandbox\n");
    }
}
END_TEST

static const char *const input_codes[] = {
    "import sys;print(sys.stdin.read())",
    "print(open('/dev/stdin').read())",
    "import os;os.read(0,3);os.lseek(0,0,0);print(os.read(0,99).decode())",
};

/* A write, and what would make room for one. */
static const char *const input_changes[] = {
    "os.write(0,b'x')",       "os.write(os.open('/dev/stdin',os.O_RDWR),b'x')",
    "open('/dev/stdin','w')", "os.ftruncate(0,0)",
    "os.ftruncate(0,99)",     "mmap.mmap(0,1,mmap.MAP_SHARED,mmap.PROT_WRITE)",
    "fcntl.fcntl(0,1033,0)",
};

static void run_with_input(const char *code, uint32_t isolation)
{
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.isolation = isolation;
    struct running running = run_begin_with_input(&backend, &description, "input");
    run_finish(&running, &outcome);
}

START_TEST(input_arrives_and_stays)
{
    for (size_t i = 0; i < COUNT_OF(input_codes); i++) {
        run_with_input(input_codes[i], (uint32_t)_i);
        ck_assert_str_eq(outcome.output, "input\n");
    }
    for (size_t i = 0; i < COUNT_OF(input_changes); i++) {
        char code[256];
        (void)snprintf(code, sizeof(code),
                       "import os,mmap,fcntl\ntry: %s\nexcept OSError as x: "
                       "print('refused',os.pread(0,99,0).decode())",
                       input_changes[i]);
        run_with_input(code, (uint32_t)_i);
        ck_assert_msg(strcmp(outcome.output, "refused input\n") == 0, "%s: %s%s", input_changes[i],
                      outcome.output, outcome.errors);
    }
}
END_TEST

/* The supervisor needs more descriptors than it was given; the program gets what there was. */
START_TEST(soft_limits_are_the_hosts)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 200;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    backend_stop(&backend);
    backend = backend_start();
    struct run_description description = describe(WORDS("sh", "-c", "ulimit -Sn"));
    description.limits.open_files = 0;
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        description.isolation = isolation;
        expect_output(&description, "200\n");
    }
}
END_TEST

START_TEST(exit_code_and_errors_arrive)
{
    struct run_description description = describe(WORDS("sh", "-c", "echo no >&2; exit 7"));
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_int_eq(outcome.end.exit_code, 7);
    ck_assert_str_eq(outcome.errors, "no\n");
    description = describe(WORDS("sh", "-c", "kill -SEGV $$"));
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_SIGNAL);
    ck_assert_int_eq(outcome.end.signal, 11);
    ck_assert_int_eq(outcome.end.exit_code, -1);
}
END_TEST

START_TEST(missing_runtime_is_named)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description = describe(WORDS("no-such-runtime"));
        description.isolation = isolation;
        run(&backend, &description, &outcome);
        ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_RUNTIME_MISSING);
        ck_assert_str_eq(outcome.end.message, "no-such-runtime");
        ck_assert(!outcome.started);
    }
}
END_TEST

START_TEST(trial_runs_nothing)
{
    struct run_description description = describe(WORDS("sh", "-c", "echo ran"));
    description.purpose = RUN_PURPOSE_TRIAL;
    expect_output(&description, "");
    ck_assert(outcome.started);
    ck_assert_uint_eq(outcome.start.isolation.applied & LAYERS_MANDATORY, LAYERS_MANDATORY);
    description.argv = WORDS("no-such-runtime");
    run(&backend, &description, &outcome);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_RUNTIME_MISSING);
}
END_TEST

START_TEST(sixteen_at_once)
{
    struct running running[16];
    struct run_description descriptions[16];
    for (size_t i = 0; i < 16; i++) {
        descriptions[i] = describe(WORDS("sh", "-c", "sleep 0.3; echo done"));
        running[i] = run_begin(&backend, &descriptions[i]);
    }
    for (size_t i = 0; i < 16; i++) {
        run_finish(&running[i], &outcome);
        expect_cause(&outcome, RUN_CAUSE_EXIT);
        ck_assert_str_eq(outcome.output, "done\n");
    }
}
END_TEST

START_TEST(unreadable_description_is_refused)
{
    struct run_description description = describe(WORDS("true"));
    description.run_id[0] = 'x';
    run(&backend, &description, &outcome);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_DESCRIPTION);
    description = describe(WORDS("true"));
    expect_output(&description, "");
}
END_TEST

int main(void)
{
    suite_begin("programs");
    for (size_t i = 0; i < COUNT_OF(one_liners); i++)
        suite_add_round(language_prints, (int)i, one_liners[i].name,
                        lacks_program(one_liners[i].name));
    suite_add(python_has_its_machinery, lacks_program("python3"));
    suite_add(node_has_its_machinery, lacks_program("node"));
    suite_add(files_and_environment_arrive, NULL);
    suite_add_round(input_arrives_and_stays, RUN_ISOLATION_NONE, "input in mode none",
                    lacks_program("python3"));
    suite_add_round(input_arrives_and_stays, RUN_ISOLATION_SANDBOX, "input",
                    lacks_program("python3"));
    suite_add(soft_limits_are_the_hosts, NULL);
    suite_add(exit_code_and_errors_arrive, NULL);
    suite_add(missing_runtime_is_named, NULL);
    suite_add(trial_runs_nothing, NULL);
    suite_add(sixteen_at_once, NULL);
    suite_add(unreadable_description_is_refused, NULL);
    return suite_end();
}
