// SPDX-License-Identifier: Apache-2.0
// Executes the cells of a session in the global scope of one Node, by V8's own mode for consoles: "await" is allowed at the top level, and
// names can be declared again. session_cells.c takes the cells and stops their code. Between them Node's event loop goes on, so what a cell
// has left there goes on too. Runs in the program's process, so what it says is as trustworthy as the program's output.
'use strict';

const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const path = require('path');
const timers = require('timers');
const { inspect, types } = require('util');
const { promiseHooks } = require('v8');
const importCalls = require('./import_calls.js');
const streams = require('./session_streams.js');

const HOME = '/home/sandbox'; // with mounts; RUN_HOME of protocol/run_description.h
const DIRECTORY = process.cwd() === HOME ? '/tmp' : `${path.dirname(process.cwd())}/tmp`;
const NAMES_LIMIT = 200, NAME_LENGTH = 100; // bytes of each, as in protocol/session.h
const INTERRUPTED = 'Script execution was interrupted by `SIGINT`'; // as Node says it
const STACK_LIMIT = 12;
const PLACE = new RegExp(`\\n {4}at (?:.* \\()?(${DIRECTORY}/cell-\\d+\\.js):(\\d+):(\\d+)\\)?`);
const IDENTIFIER = /^[\p{ID_Start}$][\p{ID_Continue}$\u200c\u200d]*$/u; // names with "_" in front are nobody's business

// A cell can replace what the next one uses, but its end should still be told.
const { apply } = Reflect;
const bind = Function.prototype.call.bind(Function.prototype.bind);
const { then } = Promise.prototype;
const { stringify } = JSON;
const { writeFileSync, readFileSync } = fs;
const plainFatalException = process._fatalException;
const reallyExit = process.reallyExit.bind(process);
const session = new inspector.Session();
const { post, connect, disconnect } = session;
const native = {};

let results, known;
let number = 0;
let cell = null; // that under way: its status, whether its code has ended, the variables that it has replaced
const names = new Set(); // that cells have defined, in that order

function ask(method, parameters) {
  let answer = null;
  apply(post, session, [method, parameters, (error, message) => {
    answer = message ?? null;
  }]);
  return answer;
}

// The inspector waits for a promise only as long as the session is connected, and it must not be interrupted in between.
function connectNew() {
  native.guard(true);
  apply(disconnect, session, []); // where code was stopped
  apply(connect, session, []);
}

function disconnectNow() {
  apply(disconnect, session, []);
  native.guard(false);
}

// Code of ours in the middle of a cell's.
function guarded(code) {
  const before = native.guard(true);
  try {
    return code();
  } finally {
    native.guard(before);
  }
}

// An object in this program that the inspector has a number of.
function take(object, holder) {
  Object.defineProperty(globalThis, importCalls.name, { value: holder, configurable: true });
  const { result } = ask('Runtime.evaluate', { expression: importCalls.name });
  const { objectId, value, unserializableValue } = object;
  ask('Runtime.callFunctionOn', { objectId: result.objectId, functionDeclaration: 'function (taken) { this.taken = taken; }',
    arguments: [{ objectId, value, unserializableValue }] });
  return holder.taken;
}

// Which line of which cell; null: of none.
function placeOf(error) {
  const stack = types.isNativeError(error) ? error.stack : '';
  const match = typeof stack === 'string' && PLACE.exec(stack);
  return match ? { file: match[1], line: Number(match[2]), column: Number(match[3]) } : null;
}

// Below a cell's own lines of a stack are those of Node's inspector and ours.
function leaveOutFrames(error) {
  if (!types.isNativeError(error) || typeof error.stack !== 'string') return;
  const lines = error.stack.split('\n');
  if (Object.isFrozen(error)) return;
  const isOurs = (line) => line.startsWith('    at ') && line.includes(`${__dirname}/`);
  const own = lines.filter((line) => !isOurs(line) && !/^ {4}at .*\(node:inspector:\d+:\d+\)$/.test(line));
  if (own.length < lines.length) error.stack = own.join('\n');
}

function quote({ file, line, column }) {
  try {
    const text = readFileSync(file, 'utf8').split('\n')[line - 1];
    return text.length > 500 ? '' : `${file}:${line}\n${text}\n${' '.repeat(column - 1)}^\n\n`;
  } catch {
    return '';
  }
}

function report(error, place = null) {
  let text = 'Uncaught exception\n';
  try {
    leaveOutFrames(error);
    const at = place ?? placeOf(error);
    text = `${at === null ? '' : quote(at)}Uncaught ${inspect(error)}\n`;
  } catch {
    // It cannot be looked at.
  }
  streams.writeAll(2, Buffer.from(text));
}

// The exception that ends a cell. place: where it is known better than by the stack.
function fail(error, place = null) {
  cell.status = 1;
  report(error, place);
  try {
    results.tellException(error, place === null ? undefined : [{ file: place.file, line: place.line, function: '<anonymous>' }]);
  } catch {
    results.tellException(new Error('The exception cannot be looked at'), []);
  }
}

// The last ones of them stay.
function putVariables(variables, lasting) {
  for (const [index, variable] of variables.entries()) {
    const end = variable.indexOf('=');
    const name = variable.slice(0, end);
    if (index < variables.length - lasting) cell.variables.push([name, process.env[name]]);
    process.env[name] = variable.slice(end + 1);
  }
}

function takeVariables() {
  for (const [name, before] of cell.variables) {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  }
}

function updateNames() {
  connectNew();
  const answer = ask('Runtime.globalLexicalScopeNames', {});
  disconnectNow();
  const now = new Set([...(answer?.names ?? []), ...Object.keys(globalThis).filter((name) => !known.has(name))]);
  for (const name of names) if (!now.has(name)) names.delete(name);
  for (const name of now) if (IDENTIFIER.test(name)) names.add(name);
}

function cut(name) {
  return Buffer.from(name).subarray(0, NAME_LENGTH).toString().replace(/\ufffd+$/, '');
}

// Whatever is broken by then, the cell ends.
function end() {
  let text = '{}';
  try {
    const { status } = cell;
    text = stringify({ exit_code: status & 255 });
    takeVariables();
    results.endCell();
    updateNames();
    const defined = [...names].slice(-NAMES_LIMIT).map(cut);
    text = stringify({ exit_code: status & 255, defined, home_is_empty: native.homeIsEmpty() === true });
  } finally {
    cell = null;
    native.end(text);
  }
}

// Behind what the cell's code has left for this turn of the event loop, such as a rejection that nobody handles.
function endSoon(ended) {
  if (cell !== ended || cell.hasEnded) return;
  cell.hasEnded = true;
  native.callSoon();
}

function onSoon() {
  if (cell === null || !cell.hasEnded) return;
  if (cell.status === 0 && process.exitCode !== undefined) cell.status = Number(process.exitCode) || 0;
  process.exitCode = undefined;
  end();
}

function succeed(running, value) {
  if (cell !== running || cell.hasEnded) return;
  if (types.isPromise(value)) {
    follow(running, value, (result) => succeed(running, result));
    return;
  }
  results.tellValue(value);
  endSoon(running);
}

function follow(running, promise, onValue) {
  apply(then, promise, [onValue, (error) => {
    if (cell !== running || cell.hasEnded) return;
    fail(error);
    endSoon(running);
  }]);
}

// The function that executes the code, with no frame of ours. It begins with the promise of the whole code: the first one. The inspector
// itself tells only of what does not compile.
function evaluation(running, code, file) {
  const parameters = { expression: `${importCalls.rename(code)}\n//# sourceURL=${file}`, replMode: true };
  running.file = file;
  connectNew();
  running.stopWatching = promiseHooks.onInit((made) => {
    running.promise ??= made;
    running.stopWatching();
  });
  return bind(post, session, 'Runtime.evaluate', parameters, (error, answer) => {
    running.answer ??= answer;
  });
}

function onEvaluated() {
  const running = cell;
  running.stopWatching();
  const details = running.answer?.exceptionDetails;
  // As Node ends it ahead of a signal that it sends to itself.
  if (running.promise === undefined && details === undefined) endSession('The inspector of this session has ended');
  const failure = running.promise === undefined ? take(details.exception, {}) : null;
  disconnectNow();
  if (running.promise !== undefined) {
    follow(running, running.promise, (value) => succeed(running, value['.repl_result']));
    return;
  }
  defineImport();
  fail(failure, { file: running.file, line: details.lineNumber + 1, column: details.columnNumber + 1 });
  endSoon(running);
}

function endSession(reason) {
  report(new Error(reason));
  reallyExit(1);
}

// To a file: a stack names it, and an exception quotes its lines from there.
function write(file, code) {
  try {
    writeFileSync(file, code);
  } catch {
    // The scratch file system is full: its lines are not quoted.
  }
}

function onCell(code, programArguments, variables, lasting, failure, hasTools) {
  cell = { status: 0, hasEnded: false, variables: [] };
  const running = cell;
  number++;
  if (number === 1) enter();
  if (process.listenerCount('SIGINT') === 0) native.hear();
  results.beginCell(hasTools);
  streams.renew();
  putVariables(variables, lasting);
  process.argv.length = 1;
  process.argv.push(`cell-${number}`, ...programArguments);
  if (failure !== '') {
    fail(Object.assign(new Error(failure), { name: 'FilesNotWritten' }));
    endSoon(running);
    return undefined;
  }
  const file = `${DIRECTORY}/cell-${number}.js`;
  write(file, code);
  return evaluation(running, code.toString(), file);
}

// Its stack says where code may be stopped, however little of stacks the program wants to see.
function interruption() {
  const limit = Error.stackTraceLimit;
  Reflect.set(Error, 'stackTraceLimit', STACK_LIMIT);
  const error = Object.assign(new Error(INTERRUPTED), { code: 'ERR_SCRIPT_EXECUTION_INTERRUPTED' });
  Reflect.set(Error, 'stackTraceLimit', limit);
  return error;
}

function onInterrupt() {
  if (cell === null) return;
  if (!cell.hasEnded) fail(cell.interruption ?? interruption());
  end();
}

// On top of code that is to be stopped. Node's own timers and queues must not be stopped halfway, and no module of its own while it is loaded.
// They soon come to code of the program, or to an end.
function unwind() {
  const error = interruption();
  const lines = typeof error.stack === 'string' ? error.stack.split('\n') : [];
  const frames = lines.filter((line) => line.startsWith('    at ') && !line.includes(`${__dirname}/`));
  if (frames.length === 0 || /node:(?:internal\/(?:timers|process\/|async_hooks)|async_hooks)/.test(frames[0])) return false;
  if (frames.some((line) => line.includes('node:internal/bootstrap/'))) return false;
  if (cell === null) report(error); // an earlier cell has left that code behind
  else cell.interruption = error;
  forget();
  return true;
}

// Node does not notice that code is stopped, and has to forget what was under way, as it does behind an exception that somebody handles.
// It would also ask for a look at the queue of ticks, which comes anyway, by an entry in a queue that may have been stopped halfway.
function forget() {
  const { emit } = process;
  const { setImmediate } = timers;
  const isOwn = Object.hasOwn(process, 'emit');
  process.emit = () => true;
  timers.setImmediate = () => {};
  try {
    apply(plainFatalException, process, [new Error(INTERRUPTED), false]);
  } finally {
    timers.setImmediate = setImmediate;
    if (isOwn) process.emit = emit;
    else delete process.emit;
  }
}

// In the place of one that ends the process: the cell ends, and nothing that the cell has set up for its end happens.
const { exit } = {
  exit(code = process.exitCode) {
    const status = Number(code ?? 0) || 0;
    if (cell !== null && !cell.hasEnded) Object.assign(cell, { status, hasEnded: true });
    process.exitCode = undefined;
    forget();
    if (!native.stop()) reallyExit(status);
    for (;;);
  },
};

// An exception that nobody handles is reported, and ends nothing: what it belongs to may be long over. One of Node's own queue is there
// again and again: code was stopped halfway through it.
function handleFatalException(error, isOfPromise) {
  if (types.isNativeError(error) && /^[^\n]*\n {4}at process\.processImmediate /.test(error.stack)) endSession('The queue of this session is broken');
  if (process.listenerCount('uncaughtException') === 0 && !process.hasUncaughtExceptionCaptureCallback())
    process.once('uncaughtException', (reason) => report(reason));
  return apply(plainFatalException, process, [error, isOfPromise]);
}

// Rejections of calls that ended with their cell, which nobody had handled by then. Node tells of them, and of their being handled later
// on, by process.emit(), and reports them where nobody listens: that would be output of a cell that has nothing to do with it.
const ofEndedCells = new WeakSet(); // promises

function hookRejections() {
  const { emit: plain } = process;
  const { emit } = {
    emit(event, ...given) {
      const heard = apply(plain, this, [event, ...given]);
      if (event === 'unhandledRejection' && results.isOfEndedCell(given[0])) ofEndedCells.add(given[1]);
      else if (event !== 'rejectionHandled') return heard;
      return heard || (typeof given.at(-1) === 'object' && ofEndedCells.has(given.at(-1)));
    },
  };
  Object.defineProperty(process, 'emit', { value: emit, writable: true, configurable: true });
}

let load;

function define(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

function defineImport() {
  define(importCalls.name, load);
}

// At the first cell: the session's program, which is empty, has been executed.
function enter() {
  const program = process.argv[1];
  const module = process.mainModule ?? new Module(program);
  const source = new Module(program);
  source.filename = program;
  source.paths = Module._nodeModulePaths(path.dirname(program));
  source._compile('module.exports = [require, (specifier, options) => import(specifier, options)];', program);
  [, load] = source.exports;
  try {
    fs.unlinkSync(program); // none of the session's files
  } catch {
    // It is gone.
  }
  define('require', source.exports[0]);
  define('module', module);
  define('exports', module.exports);
  define('__filename', program);
  define('__dirname', path.dirname(program));
  defineImport();
  known = new Set(Object.keys(globalThis));
}

// Node ends itself where code that was stopped has left its account of asynchronous work wrong. Not all versions let that be turned off.
function turnOffChecks() {
  const { noDeprecation } = process;
  process.noDeprecation = true;
  try {
    const { async_hook_fields: fields, constants } = process.binding('async_wrap');
    fields[constants.kCheck] = 0;
  } catch {
    // forget() keeps it right for most code.
  }
  process.noDeprecation = noDeprecation;
}

// true: this run is a session, whose cells begin once Node has executed its program.
// addon: the path of what has session_cells.c in it.
exports.begin = function begin(ofRun, addon) {
  results = ofRun;
  if (!fs.fstatSync(0).isSocket()) return false;
  const holder = { exports: { session: true } };
  process.dlopen(holder, addon);
  Object.assign(native, holder.exports);
  if (!native.begin(onCell, onInterrupt, onSoon, onEvaluated, unwind)) return false;
  results.beginSession(guarded, native.unblock);
  streams.begin();
  process.exit = exit;
  process._fatalException = handleFatalException;
  hookRejections();
  turnOffChecks();
  return true;
};
