// SPDX-License-Identifier: Apache-2.0
// Makes Node wait for a run at the end of its own start, before it reads its program. It is loaded by --require, and the rest of the
// command line is the program's. All changes that this takes are undone before the program begins.
'use strict';

// A thread of the program loads this as well, and must not wait.
if (require('worker_threads').isMainThread) {
  // Loads what most programs use, also for a pipe as standard output. No stream is made here: they are the run's.
  for (const name of ['buffer', 'events', 'fs', 'net', 'path', 'stream', 'timers', 'tty', 'url', 'util', 'vm']) require(name);
  require('util').inspect({ a: [1, 'b'] });
  const holder = { exports: {} };
  process.dlopen(holder, `${__dirname}/code_execute_node.node`);
  const [programArguments, variables] = holder.exports;
  const wanted = new Map(variables.map((variable) => {
    const end = variable.indexOf('=');
    return [variable.slice(0, end), variable.slice(end + 1)];
  }));
  for (const name of Object.keys(process.env)) if (!wanted.has(name)) delete process.env[name];
  // Variables that stay are not set again: Node looks for the time zone anew whenever TZ is set.
  for (const [name, value] of wanted) if (process.env[name] !== value) process.env[name] = value;
  process.argv.push(...programArguments);
}
process.execArgv.splice(process.execArgv.indexOf('--require'), 2);
delete require.cache[__filename];
