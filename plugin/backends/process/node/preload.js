// SPDX-License-Identifier: Apache-2.0
// Makes Node wait for a run at the end of its own start, before it has looked at its program: it is loaded by --require, and
// its command line is otherwise the program's. What is changed for it is put back before the program begins.
'use strict';

// A thread of the program loads this as well, and has nothing to wait for.
if (require('worker_threads').isMainThread) {
  // What most programs begin with, standard output of a pipe among it; no stream is made here, as they are the run's.
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
  // What stays as it is is not touched: Node looks for the time zone anew whenever TZ is set.
  for (const [name, value] of wanted) if (process.env[name] !== value) process.env[name] = value;
  process.argv.push(...programArguments);
}
process.execArgv.splice(process.execArgv.indexOf('--require'), 2);
delete require.cache[__filename];
