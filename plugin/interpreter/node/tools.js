// SPDX-License-Identifier: Apache-2.0
// The global "tools" of a program whose run may call tools of the gateway. results.js loads this file when a program first asks for it.
// tool_channel.js carries the calls. Runs in the program's process, in its main thread.
'use strict';

const { types } = require('util');
const { Channel, Ended, CellEnded } = require('./tool_channel.js');

for (const name of ['tools', 'tool_channel']) delete require.cache[`${__dirname}/${name}.js`];

const ARGUMENTS_LIMIT = 1 << 20; // bytes
const JSON_VALUE = 1, TEXT = 2, BYTES = 3, CONTENT = 4, ERROR = 5; // forms of an answer
const PLAIN_BYTES = 'application/octet-stream';
const WEIGHTS = [['name', 4], ['identifier', 4], ['title', 2], ['description', 1]]; // of a word that search() finds there
const SUGGESTIONS = 3;
const HALF_CHARACTER = /\p{Cs}/u; // half of a pair of surrogates, alone

const { captureStackTrace } = Error;
const { stringify, parse } = JSON;

// A call of a tool has failed. code says why, in one word; retryable: whether the same call may succeed later.
class ToolError extends Error {
  constructor(tool, code, message, retryable = false) {
    super(message);
    Object.assign(this, { tool, code, retryable });
  }
}

Object.defineProperty(ToolError.prototype, 'name', { value: 'ToolError', writable: true, configurable: true });

let channel = null, entries = [];
let origin = null; // of the next channel, which is opened at its first use: also by a function that an earlier cell has kept
const ofEndedCells = new WeakSet(); // errors of calls that were open at the end of their cell

function unavailable(why) {
  return new ToolError('tools', 'unavailable', why);
}

function open() {
  if (origin === null) return;
  const { results, resultsFd, repliesFd } = origin;
  try {
    channel = new Channel(resultsFd, repliesFd, results.unblock, results.guarded);
    entries = parse(channel.listing().toString());
  } catch (error) {
    throw unavailable(`the tools of this run are not to be had: ${error.message}`);
  }
  origin = null;
  results.writer = channel.write;
}

// Those that can be called now.
function openEntries() {
  open();
  if (channel.isClosed) throw unavailable('this cell of the session has no tools');
  return entries;
}

// The frames of place, where the call was made: those of the answer's arrival are ours.
function atPlace(error, place) {
  const { stack } = place;
  const begin = typeof stack === 'string' ? stack.indexOf('\n    at ') : -1;
  if (begin >= 0) error.stack = `${error.name}: ${error.message}${stack.slice(begin)}`;
  return error;
}

// Those of an error that was thrown below us, but for ours.
function leaveOutFrames(error) {
  if (!types.isNativeError(error) || typeof error.stack !== 'string') return error;
  error.stack = error.stack.split('\n').filter((line) => !line.startsWith('    at ') || !line.includes(`${__dirname}/tool`)).join('\n');
  return error;
}

function noForm(why) {
  return new TypeError(`an argument of a tool has no form in JSON: ${why}`);
}

// What JSON.stringify() would leave out, or write as an empty object.
function kindWithoutForm(value) {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return `a ${typeof value}`;
  if (types.isPromise(value)) return 'a promise, which is to be awaited first';
  if (types.isAnyArrayBuffer(value) || ArrayBuffer.isView(value)) return 'bytes';
  if (types.isMap(value) || types.isSet(value) || types.isWeakMap(value) || types.isWeakSet(value)) return 'a Map or Set';
  if (types.isRegExp(value)) return 'a RegExp';
  return types.isNativeError(value) ? 'an Error' : null;
}

// For JSON.stringify(), which calls it for each value, behind toJSON().
function checkedFor(tool) {
  return function check(key, given) {
    const value = types.isBoxedPrimitive(given) ? given.valueOf() : given;
    const kind = kindWithoutForm(value) ?? (value?.type === 'Buffer' && ArrayBuffer.isView(this[key]) ? 'bytes' : null);
    if (kind !== null) throw noForm(kind);
    if (value === undefined && Array.isArray(this)) throw noForm('undefined in an array');
    if (typeof value === 'number' && !Number.isFinite(value)) throw new ToolError(tool, 'invalid_arguments', `JSON has no such number: ${value}`);
    if ((typeof value === 'string' && HALF_CHARACTER.test(value)) || HALF_CHARACTER.test(key))
      throw new ToolError(tool, 'invalid_arguments', 'a text has half a character (a surrogate)');
    return value;
  };
}

// As it is sent. parameters: an object.
function textOf(tool, parameters) {
  let text;
  try {
    text = stringify(parameters, checkedFor(tool));
  } catch (error) {
    throw error instanceof RangeError ? noForm('it is nested too deeply') : error;
  }
  if (typeof text !== 'string' || text[0] !== '{') throw noForm('the parameters are not an object');
  const bytes = Buffer.from(text);
  if (bytes.length > ARGUMENTS_LIMIT)
    throw new ToolError(tool, 'limit_exceeded', `the arguments have ${bytes.length} bytes; at most ${ARGUMENTS_LIMIT} are allowed`);
  return bytes;
}

function withType(data, mimeType, uri) {
  data.mimeType = mimeType;
  if (uri !== undefined) data.uri = uri;
  return data;
}

function valueOfBlock(block) {
  if (block.type === 'text') return block.text;
  if (!('data' in block)) return block;
  return withType(Buffer.from(block.data, 'base64'), block.mime_type ?? PLAIN_BYTES, block.uri);
}

// What the answer says, or throws it.
function valueOf(tool, { form, data }) {
  if (form === JSON_VALUE) return parse(data.toString());
  if (form === TEXT) return data.toString();
  if (form === BYTES) return withType(data.subarray(1 + data[0]), data.toString('utf8', 1, 1 + data[0]));
  if (form === CONTENT) return parse(data.toString()).map(valueOfBlock);
  if (form !== ERROR) throw new ToolError(tool, 'unavailable', 'the gateway has sent another form of answer');
  const { code, message, retryable } = parse(data.toString());
  throw new ToolError(tool, code, message, retryable === true);
}

// caller: the function that the program has called. Its frames begin behind that one.
async function callTool(find, given, caller) {
  const place = {};
  captureStackTrace(place, caller);
  let tool = '';
  try {
    open();
    tool = find().name;
    const text = textOf(tool, parametersOf(caller.name, given));
    return valueOf(tool, await channel.call(Buffer.from(tool), text));
  } catch (error) {
    if (error instanceof Ended) {
      const told = atPlace(new ToolError(tool, 'unavailable', error.message), place);
      if (error instanceof CellEnded) ofEndedCells.add(told);
      throw told;
    }
    throw error instanceof ToolError ? atPlace(error, place) : leaveOutFrames(error);
  }
}

function parametersOf(name, [parameters = {}, ...more]) {
  if (typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters) && more.length === 0) return parameters;
  throw new TypeError(`${name}() takes the parameters of a tool as one object: {name: value}`);
}

function unknown(name) {
  const near = search(String(name).replaceAll('_', ' ')).slice(0, SUGGESTIONS);
  return new ToolError(String(name), 'unknown_tool', `this run has no such tool${near.length > 0 ? `; it has ${near.join(', ')}` : ''}`);
}

// By its name or its identifier.
function find(name) {
  const now = openEntries();
  const entry = now.find((one) => one.name === name) ?? now.find((one) => one.identifier === name);
  if (entry === undefined) throw unknown(name);
  return entry;
}

// The names of the tools that this program may call.
function names() {
  return openEntries().map((entry) => entry.name);
}

// The names of the tools in whose name, title or description these words are, the best first.
function search(words = '') {
  const wanted = String(words).toLowerCase().split(/\s+/).filter(Boolean);
  const scoreOf = (entry) => {
    const texts = WEIGHTS.map(([member, weight]) => [String(entry[member] ?? '').toLowerCase(), weight]);
    return wanted.reduce((sum, word) => texts.reduce((score, [text, weight]) => score + (text.includes(word) ? weight : 0), sum), 0);
  };
  const found = openEntries().map((entry) => ({ name: entry.name, score: scoreOf(entry) }));
  return found.filter(({ score }) => score > 0 || wanted.length === 0).sort((one, other) => other.score - one.score).map(({ name }) => name);
}

// What the gateway says of a tool: an object with its schema.
function describe(name) {
  return structuredClone(find(name));
}

const { call } = {
  // Calls a tool by its name, with an object of parameters.
  call(name, ...given) {
    return callTool(() => find(name), given, call);
  },
};

function functionOf(entry) {
  const { [entry.identifier]: tool } = {
    [entry.identifier](...given) {
      return callTool(() => entry, given, tool);
    },
  };
  return tool;
}

// Without a prototype: a tool may have any name that an object of JavaScript has, and nothing else is found there.
function objectOf() {
  const tools = Object.create(null);
  for (const entry of entries) tools[entry.identifier] = functionOf(entry);
  for (const [name, value] of Object.entries({ names, search, describe, call, ToolError }))
    Object.defineProperty(tools, name, { value, writable: true, configurable: true });
  return tools;
}

// A run with tools has begun, or a cell that has some. results: what shares the pipe.
exports.begin = function begin(results, resultsFd, repliesFd) {
  origin = { results, resultsFd, repliesFd };
};

// The object; throws a ToolError where the gateway tells of no tools.
exports.object = function object() {
  open();
  return objectOf();
};

// In a thread of the program: the channel is the main thread's.
exports.refuse = function refuse() {
  throw new ToolError('tools', 'unavailable', 'a thread of the program cannot call tools');
};

// The cell ends: the next one has other descriptors in the places of these. What its code has left behind cannot call until one with
// tools begins.
exports.end = function end(results) {
  origin = null;
  channel?.close();
  results.writer = null;
};

// Was the call open at the end of its cell? Then nobody has to know.
exports.isOfEndedCell = (error) => ofEndedCells.has(error);
