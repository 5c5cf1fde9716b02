// SPDX-License-Identifier: Apache-2.0
// Makes Node wait for a run at the end of its own start, before it has looked at its program: it is loaded by --require, and
// its command line is otherwise the program's. What is changed for it is put back before the program begins.
'use strict';

// A thread of the program loads this as well, and has nothing to wait for.
if (require('worker_threads').isMainThread) {
  const holder = { exports: {} };
  process.dlopen(holder, `${__dirname}/code_execute_node.node`);
  const [programArguments, variables] = holder.exports;
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const variable of variables) {
    const end = variable.indexOf('=');
    process.env[variable.slice(0, end)] = variable.slice(end + 1);
  }
  process.argv.push(...programArguments);
}
process.execArgv.splice(process.execArgv.indexOf('--require'), 2);
delete require.cache[__filename];
