// SPDX-License-Identifier: Apache-2.0
// Begins every Node of a run at the end of its own start, before it reads its program: by --require where it waits for a run, by
// NODE_OPTIONS where the run is there already. All changes that this takes are undone before the program begins.
'use strict';

function loadResults() {
  const results = require('./results.js');
  delete require.cache[`${__dirname}/results.js`];
  return results;
}

function waitForRun() {
  // Loads what most programs use, also for a pipe as standard output. No stream is made here: they are the run's.
  for (const name of ['buffer', 'events', 'fs', 'net', 'path', 'stream', 'timers', 'tty', 'url', 'util', 'vm']) require(name);
  require('util').inspect({ a: [1, 'b'] });
  const results = loadResults(); // no work that a run would wait for
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
  return results;
}

function takeBackVariables() {
  const own = process.env.NODE_OPTIONS.slice(`--require="${__filename}"`.length + 1);
  if (own) process.env.NODE_OPTIONS = own;
  else delete process.env.NODE_OPTIONS;
  delete process.env.CODE_EXECUTE_INTERPRETER;
  return loadResults();
}

// The socket of its cells is its standard input.
function isSession() {
  return require('fs').fstatSync(0).isSocket();
}

function beginSession(results) {
  require('./session.js').begin(results, `${__dirname}/code_execute_node.node`);
  for (const name of ['import_calls', 'session', 'session_streams']) delete require.cache[`${__dirname}/${name}.js`];
}

// In a thread of the program, whose run has tools.
function refuseTools() {
  try {
    if (!require('fs').fstatSync(62).isSocket()) return; // run_description.h
  } catch {
    return;
  }
  const put = (value) => Object.defineProperty(globalThis, 'tools', { value, writable: true, configurable: true });
  Object.defineProperty(globalThis, 'tools', { get: () => require('./tools.js').refuse(), set: put, configurable: true });
}

// A thread of the program loads this as well: it must not wait, and has no results.
const option = process.execArgv.indexOf('--require');
if (require('worker_threads').isMainThread) {
  const results = process.env.CODE_EXECUTE_INTERPRETER === 'begin' ? takeBackVariables() : waitForRun();
  try {
    if (isSession()) beginSession(results);
    else results.begin();
  } catch {
    // A program runs without results as well.
  }
} else {
  refuseTools();
}
if (option >= 0 && process.execArgv[option + 1] === __filename) process.execArgv.splice(option, 2);
module.children.length = 0;
delete require.cache[__filename];
