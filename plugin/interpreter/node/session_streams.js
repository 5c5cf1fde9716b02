// SPDX-License-Identifier: Apache-2.0
// The standard streams of a session. Each cell has descriptors 0-2 of its own, in the places of those of the cell before, and Node's own
// streams would wait for the old ones. Those here write at once, as Node writes to files. Runs in the interpreter of a session.
'use strict';

const fs = require('fs');
const { Writable } = require('stream');

const { writeSync, ReadStream } = fs;
const { wait } = Atomics;
const PAUSE_MS = 1;
const never = new Int32Array(new SharedArrayBuffer(4));

// All of it, also to a pipe that somebody has made non-blocking. Nobody may be there to read it.
function writeAll(fd, bytes) {
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(fd, bytes, written);
    } catch (error) {
      if (error.code === 'EPIPE') return;
      if (error.code !== 'EAGAIN') throw error;
      wait(never, 0, 0, PAUSE_MS);
    }
  }
}

class Output extends Writable {
  constructor(fd) {
    super({ decodeStrings: true });
    this.fd = fd;
    this._type = 'pipe';
    this._isStdio = true;
  }

  _write(chunk, encoding, callback) {
    try {
      writeAll(this.fd, chunk);
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
}

const outputs = [{ name: 'stdout', fd: 1 }, { name: 'stderr', fd: 2 }];
let input = null;

function show(output) {
  output.stream = new Output(output.fd);
  Object.defineProperty(process, output.name, { configurable: true, enumerable: true, get: () => output.stream });
  console[`_${output.name}`] = output.stream;
}

exports.begin = function begin() {
  outputs.forEach(show);
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    enumerable: true,
    get() {
      input ??= new ReadStream(null, { fd: 0, autoClose: false });
      return input;
    },
  });
};

// A reader that has come to the end of one cell's input stays there, and so does an output that was ended.
exports.renew = function renew() {
  input = null;
  for (const output of outputs) if (output.stream.writableEnded || output.stream.destroyed) show(output);
};

exports.writeAll = writeAll;
