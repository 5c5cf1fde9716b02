# SPDX-License-Identifier: Apache-2.0
"""Interpreters that wait for their run: what a program can see of its interpreter is the same as of one that was started for it, and
nothing of a run is in another one's."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from modes import Provider
from provider import OK, Host

READY = 2
HOW = {"python": waiting.COPIED, "javascript": waiting.STARTED}
provider = Provider()
GRANTED = ("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files")

# What a program prints, on both of its outputs, and how it ends, must not depend on how its interpreter came to be.
PYTHON = {
    "command line": "import sys; print(sys.argv, sys.orig_argv, sys.executable, sys.flags, sys.path, len(sys.path_hooks), sys.warnoptions, sys._xoptions)",
    "main module": "import sys; main = sys.modules['__main__']; print(sorted(main.__dict__), main.__file__, type(main.__loader__), main.__loader__.path, main.__spec__, main.__name__)",
    "no trace in modules": "import sys; print([name for name in sys.modules if 'code_execute' in name], [entry for entry in sys.path_importer_cache if 'code-execute' in entry or 'interpreter' in entry])",
    "environment": "import os; print(sorted(os.environ.items()), sorted(os.environb.items())); os.system('env | sort')",
    "bytecode": "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)",
    "stack": "import inspect, sys, traceback; print(len(inspect.stack()), sys._getframe().f_back); traceback.print_stack()",
    "traceback": "def inner():\n    raise ValueError('seen')\ninner()\n",
    "chained traceback": "try:\n    {}['a']\nexcept KeyError as error:\n    raise RuntimeError('two') from error\n",
    "syntax error": "x = 1\nif x\n    pass\n",
    "bytes that are no UTF-8": "print('a'); exec(compile(b'x = \'\\xff\'', 'other', 'exec'))",
    "exit code": "import sys; sys.exit(7)",
    "exit with words": "import sys; sys.exit('words')",
    "exit at once": "import os; os._exit(3)",
    "killed by itself": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "aborted": "import os; os.abort()",
    "interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "signal handlers": "import signal; print({number.name: signal.getsignal(number) if not callable(signal.getsignal(number)) else signal.getsignal(number).__name__ for number in signal.valid_signals() if isinstance(number, signal.Signals)}, signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "caught signal": "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('caught', flush=True))\nos.kill(os.getpid(), signal.SIGUSR1)",
    "broken pipe": "import os, signal; r, w = os.pipe(); os.close(r)\ntry:\n    os.write(w, b'x')\nexcept BrokenPipeError as error:\n    print(error)",
    "input": "print(input(), input())\ntry:\n    input()\nexcept EOFError as error:\n    print('end', error)",
    "standard streams": "import sys\nfor stream in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__):\n    print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.seekable(), stream.isatty(), stream.fileno(), type(stream.buffer), stream.newlines)",
    "where standard input stands": "import os, sys; print(os.lseek(0, 0, os.SEEK_CUR), sys.stdin.buffer.tell(), sys.stdin.readline(), os.fstat(0).st_size)",
    "descriptors": "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')), os.get_inheritable(0))",
    "place": "import os; print(os.getcwd(), oct(os.umask(0o22)), os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0), sorted(os.listdir('.')), os.path.realpath(__file__))",
    "identity": "import os, pwd, grp; print(os.getuid(), os.getgid(), os.getgroups(), pwd.getpwuid(os.getuid()), os.uname().nodename)",
    "what it may read of itself": "import ctypes, os; x = ctypes.create_string_buffer(b'mark'); mem = os.open('/proc/self/mem', os.O_RDONLY); print(os.pread(mem, 4, ctypes.addressof(x)), len(open('/proc/self/maps').read()) > 0, os.readlink('/proc/self/exe'), os.stat('/proc/self/fd').st_uid)",
    "status": "print([line for line in open('/proc/self/status') if line.split(':')[0] in ('Name', 'Umask', 'State', 'Uid', 'Gid', 'Groups', 'NStgid', 'Threads', 'SigBlk', 'SigIgn', 'SigCgt', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters', 'CoreDumping')])",
    "limits": "import resource; print([(name, resource.getrlimit(getattr(resource, name))) for name in dir(resource) if name.startswith('RLIMIT')])",
    "threads": "import threading\nresults = []\nthreads = [threading.Thread(target=lambda n=n: results.append(n * n)) for n in range(8)]\n[t.start() for t in threads]; [t.join() for t in threads]\nprint(sorted(results), threading.main_thread() is threading.current_thread(), threading.current_thread().name, threading.active_count(), threading.get_native_id())",
    "thread that outlives the end": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
    "subprocess": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'import sys, os; print(sys.path[0], os.environ.get(\"PYTHONPATH\"), sys.flags, \"sitecustomize\" in sys.modules)'], capture_output=True, text=True))",
    "multiprocessing fork": "import multiprocessing\nif __name__ == '__main__':\n    with multiprocessing.get_context('fork').Pool(2) as pool:\n        print(pool.map(abs, [-1, -2, -3]))",
    "multiprocessing spawn": "import multiprocessing, os\ndef double(x):\n    return 2 * x\nif __name__ == '__main__':\n    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(double, [1, 2, 3]))",
    "fork": "import os\npid = os.fork()\nif pid == 0:\n    print('child', flush=True); os._exit(0)\nos.waitpid(pid, 0); print('parent')",
    "at exit": "import atexit; atexit.register(print, 'last'); print('first')",
    "what is destroyed at the end": "class Thing:\n    def __del__(self):\n        print('gone')\nthing = Thing()\nfile = open('unflushed', 'w'); file.write('x')",
    "asynchronous": "import asyncio\nasync def main():\n    await asyncio.sleep(0.01); print('slept')\nasyncio.run(main())",
    "site": "import site, sysconfig; print(site.ENABLE_USER_SITE, site.getusersitepackages(), site.getuserbase(), site.USER_SITE, site.getsitepackages(), sysconfig.get_path('purelib'))",
    "home": "import os, pathlib; print(os.path.expanduser('~'), pathlib.Path.home(), os.path.expandvars('$HOME $PWD $USER $TMPDIR'))",
    "locale and time": "import locale, sys, time; print(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencoding(), time.tzname, sys.getdefaultencoding())",
    "import of its own file": "open('other.py', 'w').write('value = 42')\nimport other; print(other.value, other.__file__)",
    "imports": "import json, re, random, datetime, decimal, sqlite3, hashlib, ssl, urllib.request, csv, dataclasses; print(json.dumps({'a': re.findall('b', 'abb')}), datetime.date(2020, 1, 1), hashlib.sha256(b'').hexdigest()[:8])",
    "warnings": "import warnings; warnings.warn('careful'); print(warnings.filters)",
    "garbage": "import gc; print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.callbacks)",
    "recursion": "import sys; print(sys.getrecursionlimit())\ndef down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\nprint(down(900))",
    "too deep": "def down():\n    down()\ntry:\n    down()\nexcept RecursionError as error:\n    print(error)",
    "stack of the machine": "import threading; print(threading.stack_size()); import resource; print(resource.getrlimit(resource.RLIMIT_STACK))",
    "help of builtins": "print(exit, quit, copyright is not None, license is not None, sorted(name for name in dir(__builtins__)))",
}

JAVASCRIPT = {
    "command line": "console.log(process.argv, process.execArgv, process.execPath, process.argv0, process.title)",
    "environment": "console.log(process.env, require('child_process').execSync('env | sort').toString())",
    "main module": "console.log(require.main === module, module.id, module.filename, module.children, module.paths, Object.keys(require.cache), __dirname)",
    "place": "console.log(process.cwd(), process.pid, process.ppid, process.getuid(), process.umask(), require('fs').readdirSync('.'))",
    "standard streams": "console.log(process.stdout.isTTY, process.stdin.isTTY, process.stdout.constructor.name, process.stdin.constructor.name, process.stdin.fd)",
    "input": "process.stdin.on('data', data => console.log(String(data))); process.stdin.on('end', () => console.log('end'))",
    "input at once": "console.log(require('fs').readFileSync(0, 'utf8'))",
    "exit code": "process.exit(7)",
    "thrown": "function inner() { throw new Error('seen') }\ninner()",
    "rejected": "Promise.reject(new Error('seen'))",
    "syntax error": "let x = ;",
    "modules": "const os = require('os'); console.log(os.homedir(), os.hostname(), os.tmpdir(), require('path').resolve('x'))",
    "imported": "import('fs').then(fs => console.log(typeof fs.readFileSync))",
    "worker": "const { Worker } = require('worker_threads'); new Worker('console.log(process.argv.length, process.execArgv)', { eval: true })",
    "child": "const { fork } = require('child_process'); if (process.argv[2] === 'child') console.log('child', process.execArgv); else fork(__filename, ['child'])",
    "timers": "setTimeout(() => console.log('late'), 10)",
    "listeners": "console.log(process.eventNames(), process.listenerCount('exit'), process.listenerCount('SIGINT'))",
    "signals": "process.on('SIGUSR2', () => { console.log('caught'); process.exit(0) }); setTimeout(() => {}, 1000); process.kill(process.pid, 'SIGUSR2')",
    "status": "console.log(require('fs').readFileSync('/proc/self/status', 'utf8').split('\\n').filter(line => /^(Uid|Gid|Cap|NoNewPrivs|Seccomp|SigBlk|SigIgn)/.test(line)))",
    "descriptors": "console.log(require('fs').readdirSync('/proc/self/fd').map(fd => { try { return require('fs').readlinkSync('/proc/self/fd/' + fd).split(':')[0] } catch { return null } }).filter(link => link === 'socket' || link === 'memfd'))",
}


def use(ready, languages=None, **more):
    provider.reset()
    patch = {"pools": {"process": {"ready": ready, "most": 0}}, **more}
    if languages:
        patch["languages"] = languages
    tap.equal(provider.use_policy(patch), OK)


def run(code, language="python", host=None, **more):
    status, result = provider.invoke({"language": language, "code": code, **more}, host or Host(GRANTED))
    tap.true(status == OK and result["cause"] in ("exit", "signal"), result)
    return result


def ready_run(code, language, **more):
    return waiting.ready_run(provider, lambda: run(code, language, **more), READY, HOW[language])


def seen(result):
    return {name: result[name] for name in ("status", "cause", "exit_code", "signal", "stdout", "stderr")}


def compare(programs, language):
    use(0)
    plain = {name: seen(run(code, language, stdin="one\ntwo\n", args=["first", "", "a b"])) for name, code in programs.items()}
    again = {name: seen(run(code, language, stdin="one\ntwo\n", args=["first", "", "a b"])) for name, code in programs.items()}
    unlike = [(name, plain[name], again[name]) for name in programs if plain[name] != again[name]]
    tap.equal(unlike, [], "a program that shows something else each time compares nothing")
    use(READY)
    run("0", language)
    different = {}
    for name, code in programs.items():
        ready = seen(ready_run(code, language, stdin="one\ntwo\n", args=["first", "", "a b"]))
        if ready != plain[name]:
            different[name] = {"started": plain[name], "ready": ready}
    for name, values in different.items():
        print(f"# {name}:\n#   started {values['started']}\n#   ready   {values['ready']}".replace("\\n", " "))
    tap.equal(sorted(different), [], "programs that can tell")


def test_python_cannot_tell():
    compare(PYTHON, "python")


def test_javascript_cannot_tell():
    compare(JAVASCRIPT, "javascript")


tap.run(globals())
