// SPDX-License-Identifier: Apache-2.0
// Tells what a JavaScript program has to show besides its output: the value of its last expression, what it passes to display() and to
// console.table(), and the exception that ends it. It writes frames (docs/internals/run.md) to the run's results descriptor. Runs in
// the program's own process, so what it says is as trustworthy as the program's output.
'use strict';

const fs = require('fs');
const { inspect, types } = require('util');
const { addHook } = require('./last_expression.js'); // before there is a run to wait for it

delete require.cache[`${__dirname}/last_expression.js`];

const RESULTS_FD = 63, TOOLS_FD = 62; // run_description.h
const RESULT = 1, EXCEPTION = 2, OMITTED = 3; // kinds of frames
const ITEMS_LIMIT = 64, TEXT_LIMIT = 1 << 20, TOTAL_LIMIT = 16 << 20;
const LENGTH_LIMIT = 10000; // members of a value, over all its depth
const DEPTH_LIMIT = 40;
const NAME_LIMIT = 200;
const MESSAGE_LIMIT = 8192;
const FRAMES_LIMIT = 50;
const ROWS_LIMIT = 100, COLUMNS_LIMIT = 100, CELL_LIMIT = 1000; // of a table
const TABLE_LIMIT = 1 << 18; // characters of its rows
const HOOK = '__code_execute_value'; // a name that no program has

const { writeSync, fstatSync, readFileSync, realpathSync } = fs;
const { on } = process;

class NotJson extends Error {}

const channel = {
  identity: null,
  items: 0,
  bytes: 0,
  untold: Object.create(null), // by reason: what was left out behind the first
  waits: false, // for the end of the program
  hasEnded: false,
  writer: null, // of tool_channel.js, once the program calls tools: a frame is whole between two of theirs
  unblock: null, // makes the pipe of a cell non-blocking
  guarded: (code) => code(), // in a session: calls it where nothing stops it halfway

  identityNow() {
    const status = fstatSync(RESULTS_FD);
    return status.isFIFO() ? `${status.dev} ${status.ino}` : null;
  },

  // For a cell, which has a pipe of its own and calls finish().
  restart() {
    Object.assign(this, { items: 0, bytes: 0, untold: Object.create(null), waits: true, hasEnded: false });
    this.identity = this.identityNow();
  },

  // A program may have closed the descriptor, and have another file there.
  isThere() {
    try {
      return this.identity !== null && this.identityNow() === this.identity;
    } catch {
      return false;
    }
  },

  send(kind, members) {
    if (!this.isThere()) return;
    const payload = Buffer.from(JSON.stringify(members).replaceAll('\\u0000', '\ufffd'));
    const head = Buffer.alloc(5);
    head.writeUInt32LE(payload.length);
    head[4] = kind;
    const frame = Buffer.concat([head, payload]);
    try {
      this.guarded(() => this.write(frame));
    } catch {
      this.identity = null;
    }
  },

  // Whole: half a frame would take the next ones with it.
  write(frame) {
    if (this.writer !== null) this.writer(frame);
    else for (let written = 0; written < frame.length;) written += writeSync(RESULTS_FD, frame, written);
  },

  // The first of a reason at once, the others at the end.
  omit(reason, size) {
    const isFirst = this.untold[reason] === undefined;
    if (isFirst) this.untold[reason] = { reason, count: 0, bytes: 0 };
    if (isFirst || this.hasEnded) {
      this.send(OMITTED, { reason, count: 1, bytes: size });
      return;
    }
    this.untold[reason].count++;
    this.untold[reason].bytes += size;
    if (!this.waits) Reflect.apply(on, process, ['exit', () => this.finish()]);
    this.waits = true;
  },

  finish() {
    this.hasEnded = true;
    try {
      for (const reason in this.untold) if (this.untold[reason].count > 0) this.send(OMITTED, this.untold[reason]);
    } catch {
      // Results are not worth another end of the program.
    }
  },

  sendResult(members) {
    const size = JSON.stringify(members).length;
    if (this.items >= ITEMS_LIMIT) return this.omit('max_items', size);
    if (this.bytes + size > TOTAL_LIMIT) return this.omit('total_bytes', size);
    this.items++;
    this.bytes += size;
    this.send(RESULT, members);
  },
};

function isPlainObject(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

// A copy of a value that is data alone: what a reader of its JSON makes of it is the value. No code of the program runs here.
function plainData(value, depth = DEPTH_LIMIT, room = { left: LENGTH_LIMIT }) {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)) return value;
  if (typeof value === 'string' && !/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value)) return value;
  if (typeof value !== 'object' || types.isProxy(value) || depth === 0) throw new NotJson();
  const isArray = Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;
  if (!isArray && !isPlainObject(value)) throw new NotJson();
  if (isArray && value.length > room.left) throw new NotJson();
  const keys = Reflect.ownKeys(value).filter((key) => !isArray || key !== 'length');
  room.left -= keys.length;
  if (room.left < 0 || (isArray && keys.length !== value.length)) throw new NotJson();
  const copy = isArray ? [] : Object.create(null);
  for (const key of keys) {
    const member = Object.getOwnPropertyDescriptor(value, key);
    if (typeof key === 'symbol' || !('value' in member) || !member.enumerable || key === 'toJSON') throw new NotJson();
    copy[key] = plainData(member.value, depth - 1, room);
  }
  return copy;
}

function jsonOf(value) {
  try {
    return plainData(value);
  } catch {
    return undefined;
  }
}

// How many members inspect() would write of it, as far as the room goes.
function membersOf(value, depth, room) {
  if (typeof value !== 'object' || value === null || types.isProxy(value) || depth < 0 || room.left < 0) return;
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  const keys = isList ? Array.from({ length: Math.min(value.length || 0, 100) }, (_, index) => index) : Object.keys(value);
  room.left -= keys.length;
  for (const key of keys) {
    if (room.left < 0) return;
    const member = Object.getOwnPropertyDescriptor(value, key);
    if (member && 'value' in member) membersOf(member.value, depth - 1, room);
  }
}

function textOf(value) {
  let depth = 4;
  for (; depth >= 0; depth--) {
    const room = { left: LENGTH_LIMIT };
    membersOf(value, depth, room);
    if (room.left >= 0) break;
  }
  if (depth < 0) return `<${nameOf(value)} of more than ${LENGTH_LIMIT} members>`;
  let text;
  try {
    text = inspect(value, { depth, maxArrayLength: 100, maxStringLength: 1 << 18, breakLength: 120 });
  } catch (error) {
    text = `<${nameOf(value)}: its inspection threw ${nameOf(error)}>`;
  }
  return text.length > TEXT_LIMIT >> 2 ? `${text.slice(0, TEXT_LIMIT >> 2)}...` : text;
}

function nameOf(value) {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (types.isProxy(value)) return 'Proxy';
  for (let object = value; object !== null && !types.isProxy(object); object = Object.getPrototypeOf(object)) {
    const member = Object.getOwnPropertyDescriptor(object, 'constructor');
    const name = typeof member?.value === 'function' && !types.isProxy(member.value) && Object.getOwnPropertyDescriptor(member.value, 'name')?.value;
    if (typeof name === 'string' && name !== '') return name.slice(0, NAME_LIMIT);
  }
  return 'object';
}

function formsOf(value) {
  const data = { 'text/plain': textOf(value) };
  const json = jsonOf(value);
  if (json !== undefined) data['application/json'] = json;
  return data;
}

function show(value, role) {
  channel.sendResult({ role, data: formsOf(value), type_name: nameOf(value) });
}

// A promise has no value yet when the last line has been executed.
function tellValue(value) {
  try {
    if (value !== undefined && !types.isPromise(value) && channel.isThere()) show(value, 'value');
  } catch {
    // Results are not worth another end of the program.
  }
}

const { display } = {
  display(...values) {
    for (const value of values) {
      if (channel.isThere()) show(value, 'display');
      else console.log(value);
    }
  },
};

function cellOf(value) {
  if (value === undefined) return null;
  const plain = typeof value === 'object' && value !== null ? undefined : jsonOf(value);
  return plain !== undefined && !(typeof plain === 'string' && plain.length > CELL_LIMIT) ? plain : inspect(value, { depth: 1, maxArrayLength: 3 }).slice(0, CELL_LIMIT);
}

function typeOf(values) {
  const kinds = new Set(values.filter((value) => value !== undefined && value !== null).map((value) => typeof value));
  return kinds.size === 1 ? [...kinds][0] : kinds.size === 0 ? 'null' : 'mixed';
}

// The first rows whose JSON fits.
function rowsWithin(limit, count, rowAt) {
  const rows = [];
  for (let index = 0, size = 0; index < count; index++) {
    const row = rowAt(index);
    size += JSON.stringify(row).length;
    if (size > limit) break;
    rows.push(row);
  }
  return rows;
}

// As console.table() divides its data: a row a member, a column a key of any member.
function tableOf(data, wanted) {
  const rows = Object.entries(data);
  const names = new Set();
  const isList = Array.isArray(data);
  const shown = rows.slice(0, ROWS_LIMIT);
  for (const [, row] of shown) if (typeof row === 'object' && row !== null) for (const key of Object.keys(row)) names.add(key);
  const all = wanted ?? [...names];
  const columns = [['(index)', shown.map(([index]) => (isList ? Number(index) : index))]];
  for (const name of all.slice(0, COLUMNS_LIMIT))
    columns.push([String(name), shown.map(([, row]) => (typeof row === 'object' && row !== null && Object.hasOwn(row, name) ? row[name] : undefined))]);
  if (shown.some(([, row]) => typeof row !== 'object' || row === null))
    columns.push(['Values', shown.map(([, row]) => (typeof row === 'object' && row !== null ? undefined : row))]);
  const cells = rowsWithin(TABLE_LIMIT, shown.length, (index) => columns.map(([, values]) => cellOf(values[index])));
  return {
    columns: columns.map(([name, values]) => ({ name: name.slice(0, NAME_LIMIT), type: typeOf(values) })),
    rows: cells,
    total_rows: rows.length,
    total_columns: columns.length + Math.max(0, all.length - COLUMNS_LIMIT),
    truncated: rows.length > cells.length || all.length > COLUMNS_LIMIT,
  };
}

function textOfTable(table) {
  const lines = [table.columns.map((column) => column.name), ...table.rows.map((row) => row.map((cell) => (cell === null ? '' : String(cell))))];
  const widths = table.columns.map((_, index) => Math.max(...lines.map((line) => line[index].length)));
  const text = lines.map((line) => line.map((cell, index) => cell.padEnd(widths[index])).join('  ').trimEnd()).join('\n');
  return text.length > TEXT_LIMIT >> 2 ? `${text.slice(0, TEXT_LIMIT >> 2)}...` : text;
}

// Data alone: a getter of the program would run once more than it does without us.
function tellTable(data, wanted) {
  if (typeof data !== 'object' || data === null || !channel.isThere() || (wanted !== undefined && jsonOf(wanted) === undefined)) return;
  const plain = jsonOf(data);
  if (plain === undefined) return;
  const table = tableOf(data, wanted);
  channel.sendResult({ role: 'display', data: { 'text/plain': textOfTable(table), 'application/json': plain }, type_name: 'table', table });
}

function watchTables() {
  const plain = console.table;
  const { table } = {
    table(...values) {
      try {
        tellTable(values[0], values[1]);
      } catch {
        // It is printed as it would be.
      }
      try {
        return Reflect.apply(plain, this, values);
      } catch (error) {
        if (typeof error?.stack === 'string') error.stack = error.stack.split('\n').filter((line) => !line.includes(__filename)).join('\n');
        throw error;
      }
    },
  };
  Object.defineProperty(table, 'length', { value: plain.length, configurable: true });
  console.table = table;
}

function framesOf(error) {
  const stack = types.isNativeError(error) ? error.stack : '';
  const frames = [];
  if (typeof stack !== 'string') return frames;
  const place = /^(\/.+):(\d+)\n/.exec(stack);
  if (error instanceof SyntaxError && place) frames.push({ file: place[1], line: Number(place[2]), function: '<anonymous>' });
  for (const line of stack.split('\n')) {
    const match = /^ {4}at (?:(.*) \()?(?:file:\/\/)?(\/.*?):(\d+):\d+\)?$/.exec(line);
    if (match && frames.length < FRAMES_LIMIT)
      frames.push({ file: match[2], line: Number(match[3]), function: (match[1] ?? '<anonymous>').slice(0, NAME_LIMIT) });
  }
  return frames.reverse(); // the outermost is the first
}

// frames: those of an error whose stack does not have its place.
function tellException(error, frames = framesOf(error)) {
  const isError = types.isNativeError(error);
  const name = isError ? error.name : nameOf(error);
  const value = isError ? error.message : textOf(error);
  channel.send(EXCEPTION, { name: String(name).slice(0, NAME_LIMIT), value: String(value).slice(0, MESSAGE_LIMIT), frames });
}

// Takes itself away before any code of the program can run.
function listenOnce() {
  const events = process._events, own = events.uncaughtExceptionMonitor;
  const monitor = (error) => {
    if (own === undefined) {
      delete events.uncaughtExceptionMonitor;
      process._eventsCount--;
    } else {
      events.uncaughtExceptionMonitor = own;
    }
    try {
      if (process.listenerCount('uncaughtException') === 0 && !process.hasUncaughtExceptionCaptureCallback()) tellException(error);
    } catch {
      // Node reports it in any case.
    }
  };
  if (own === undefined) process._eventsCount++;
  events.uncaughtExceptionMonitor = own === undefined ? monitor : [monitor].concat(own);
}

const { prepareStackTrace } = Error;

// Only code of Node's own is below the caller on the stack.
function isCalledByNode() {
  if (Error.prepareStackTrace !== prepareStackTrace) return false;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 12;
  const lines = new Error().stack.split('\n').slice(3);
  Error.stackTraceLimit = stackTraceLimit;
  return lines.every((line) => line.includes('node:internal/'));
}

// Node looks its handler of fatal exceptions up when there is one. Only then is there a listener of ours; a program that goes on has
// a handler of its own.
function watchFatalExceptions() {
  const plain = process._fatalException;
  const put = (value) => Object.defineProperty(process, '_fatalException', { value, writable: true, enumerable: true, configurable: true });
  Object.defineProperty(process, '_fatalException', {
    configurable: true,
    enumerable: true,
    get() {
      if (isCalledByNode()) {
        put(plain);
        if (channel.isThere()) listenOnce();
      }
      return plain;
    },
    set: put,
  });
}

// A program that Node takes for an ES module is loaded in another way, and has no value.
function isCommonJs(path) {
  if (!path.endsWith('.js') || /--(?:import|loader|experimental)/.test(`${process.execArgv} ${process.env.NODE_OPTIONS ?? ''}`)) return false;
  for (let at = path.lastIndexOf('/'); at >= 0; at = at === 0 ? -1 : path.lastIndexOf('/', at - 1))
    if (fs.existsSync(`${path.slice(0, at)}/package.json`)) return false;
  return true;
}

function hookValue() {
  const path = realpathSync(process.argv[1]);
  if (!isCommonJs(path)) return;
  const changed = addHook(readFileSync(path, 'utf8').replace(/^\ufeff/, ''), HOOK);
  if (changed === null) return;
  fs.readFileSync = (file, options) => {
    if (file !== path) return readFileSync(file, options);
    fs.readFileSync = readFileSync;
    return changed;
  };
  Object.defineProperty(globalThis, HOOK, {
    configurable: true,
    get() {
      delete globalThis[HOOK];
      return { [Symbol.hasInstance]: tellValue };
    },
  });
}

function hasTools() {
  try {
    return fstatSync(TOOLS_FD).isSocket();
  } catch {
    return false;
  }
}

const tools = {
  part: null, // tools.js, once the program has asked for the global
  offered: null, // the getter of the global, or the object that it has become

  // Nothing of them is loaded before the program asks for the global. One of its own takes that place.
  offer() {
    const put = (value) => Object.defineProperty(globalThis, 'tools', { value, writable: true, configurable: true });
    const get = () => put(this.load()).tools;
    this.part?.begin(channel, RESULTS_FD, TOOLS_FD);
    this.offered = get;
    Object.defineProperty(globalThis, 'tools', { get, set: put, configurable: true });
  },

  load() {
    if (this.part === null) {
      this.part = require('./tools.js');
      this.part.begin(channel, RESULTS_FD, TOOLS_FD);
    }
    this.offered = this.part.object();
    return this.offered;
  },

  // false: the global is the program's own.
  withdraw() {
    const now = Object.getOwnPropertyDescriptor(globalThis, 'tools');
    if (now === undefined) return true;
    return this.offered !== null && (now.get === this.offered || now.value === this.offered) && Reflect.deleteProperty(globalThis, 'tools');
  },

  beginCell(hasTools) {
    if (this.withdraw() && hasTools) this.offer();
    else if (hasTools) this.part?.begin(channel, RESULTS_FD, TOOLS_FD);
  },
};

// false: this run has no results.
function beginResults() {
  Object.defineProperty(globalThis, 'display', { value: display, writable: true, configurable: true });
  channel.identity = channel.identityNow();
  if (channel.identity === null) return false;
  watchTables();
  return true;
}

// The run is there, and the program is about to be read.
exports.begin = function begin() {
  if (!beginResults()) return;
  watchFatalExceptions();
  hookValue();
  if (hasTools()) tools.offer();
};

// Instead of begin(), where the run is a session: its cells are told of by the other functions.
// guarded(function): calls it where nothing stops it halfway.
exports.beginSession = function beginSession(guarded, unblock) {
  const load = tools.load.bind(tools);
  tools.load = () => guarded(load);
  Object.assign(channel, { unblock, guarded });
  return beginResults();
};
exports.tellValue = tellValue;
exports.tellException = tellException;
exports.beginCell = function beginCell(hasTools) {
  channel.restart();
  tools.beginCell(hasTools);
};
exports.endCell = function endCell() {
  channel.finish();
  tools.part?.end(channel);
};
exports.isOfEndedCell = (error) => tools.part !== null && tools.part.isOfEndedCell(error);
