// SPDX-License-Identifier: Apache-2.0
// Carries a program's calls of tools to the gateway, and the answers back: frames on the run's results pipe and on its socket of replies
// (docs/internals/tools-inside.md). Neither blocks for ever: while there is no room for a call, answers are read. tools.js has what a
// program sees. Runs in the program's process, in its main thread.
'use strict';

const fs = require('fs');
const { Socket } = require('net');
const timers = require('timers');

const { fstatSync, readSync, writeSync } = fs;
const { setTimeout } = timers;
const { wait } = Atomics;
const { on } = process;

const CALL = 5; // kind of frame to the gateway, beside those of results.js
const LISTING = 1, ANSWER = 2; // kinds of frames from it
const HEAD = 5; // bytes: u32 length, u8 kind
const ANSWER_HEAD = 5; // bytes: u32 number, u8 form
const LISTING_HEAD = 4; // bytes: u32 calls that may be open
const READ_SIZE = 1 << 16;
const FRAME_LIMIT = 1 << 30; // a longer one is none
const PAUSE_MS = 1; // while the pipe is full
const REASON = 'the gateway takes no more calls';

const never = new Int32Array(new SharedArrayBuffer(4));

// There are no more answers.
class Ended extends Error {}

// They ended with the cell that has made the call.
class CellEnded extends Ended {}

function identity(fd) {
  const status = fstatSync(fd);
  return status.isFIFO() || status.isSocket() ? `${status.dev} ${status.ino}` : null;
}

function frameOf(kind, ...parts) {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32LE(parts.reduce((length, part) => length + part.length, 0));
  head[HEAD - 1] = kind;
  return Buffer.concat([head, ...parts]);
}

// Puts together what comes in pieces.
class FrameReader {
  constructor() {
    this.head = Buffer.alloc(HEAD);
    this.begin();
  }

  begin() {
    this.filled = 0; // bytes of this frame, with its head
    this.payload = null;
  }

  // take(kind, payload) for each whole frame. false: this is none.
  feed(bytes, take) {
    for (let at = 0; at < bytes.length;) {
      at += this.payload === null ? this.fill(this.head, this.filled, bytes, at) : this.fill(this.payload, this.filled - HEAD, bytes, at);
      if (this.filled === HEAD && this.payload === null) {
        const length = this.head.readUInt32LE();
        if (length > FRAME_LIMIT) return false;
        this.payload = Buffer.allocUnsafeSlow(length);
      }
      if (this.payload === null || this.filled < HEAD + this.payload.length) continue;
      const { payload } = this;
      this.begin();
      take(this.head[HEAD - 1], payload);
    }
    return true;
  }

  fill(target, offset, bytes, at) {
    const count = bytes.copy(target, offset, at);
    this.filled += count;
    return count;
  }
}

// unblock: makes the pipe non-blocking, where its place is ours to keep for the next cell. guarded(function): calls it where nothing
// stops it halfway, between a write and our noting it.
class Channel {
  constructor(resultsFd, repliesFd, unblock, guarded) {
    Object.assign(this, { resultsFd, repliesFd, unblock, guarded });
    this.identities = [identity(resultsFd), identity(repliesFd)];
    this.number = 0;
    this.queue = []; // calls that have not been sent
    this.open = new Map(); // calls that have, by number
    this.out = []; // bytes under way
    this.hasEnded = false; // there are no more answers
    this.isBroken = false; // nothing can be written
    this.isClosed = false; // by us: what comes next on these descriptors is another cell's
    this.timer = null;
    this.finishesAtExit = unblock !== null; // a cell does so by close()
    this.told = null; // what the gateway tells of the tools
    this.most = 0; // calls without an answer, as it tells with them; further ones wait here
    this.reader = new FrameReader();
    this.buffer = Buffer.allocUnsafeSlow(READ_SIZE);
    this.input = this.output = null;
    this.write = this.write.bind(this);
  }

  isThere() {
    return !this.hasEnded && !this.isBroken && this.isSame(this.resultsFd, 0) && this.isSame(this.repliesFd, 1);
  }

  // A program may have closed the descriptors, and have other files there.
  isSame(fd, index) {
    try {
      return this.identities[index] !== null && identity(fd) === this.identities[index];
    } catch {
      return false;
    }
  }

  // The tools of this run, which the gateway tells first of all.
  listing() {
    if (!this.isThere()) throw new Ended(REASON);
    while (this.told === null && !this.hasEnded) if (!this.readSome()) wait(never, 0, 0, PAUSE_MS);
    if (this.told === null) throw new Ended(REASON);
    return this.told;
  }

  // name, text: Buffers. A promise of the answer: its form, and its bytes. Sent at once, where there is room.
  call(name, text) {
    return new Promise((resolve, reject) => this.guarded(() => {
      if (!this.isThere()) throw new Ended(REASON);
      if (this.input === null) this.begin();
      this.queue.push({ name, text, resolve, reject });
      this.send();
      this.hold();
    }));
  }

  // Node watches the socket. It makes both descriptors non-blocking, and has no other way of its own to make the pipe so.
  begin() {
    const callback = (count) => {
      this.guarded(() => this.receive(this.buffer.subarray(0, count)));
      return true;
    };
    const end = () => this.isClosed || this.guarded(() => this.end());
    this.input = new Socket({ fd: this.repliesFd, readable: true, writable: false, onread: { buffer: this.buffer, callback } });
    for (const event of ['end', 'error', 'close']) this.input.on(event, end);
    if (this.unblock === null) this.output = new Socket({ fd: this.resultsFd, readable: false, writable: true });
    else this.unblock();
    this.output?.on('error', () => {});
    this.output?.unref();
  }

  // An open call keeps the program alive, and nothing else of ours does.
  hold() {
    if (this.input === null) return;
    if (this.open.size + this.queue.length > 0) this.input.ref();
    else this.input.unref();
  }

  // What is queued, as far as it may be in flight and the pipe has room. A timer goes on with the rest.
  send() {
    while (this.takeFromQueue()) {
      if (this.writeSome()) continue;
      if (!this.isBroken) this.sendLater();
      return;
    }
  }

  // A frame that has been begun is finished at the program's end, or the results behind it would be part of it.
  sendLater() {
    if (!this.finishesAtExit) Reflect.apply(on, process, ['exit', () => this.flush()]);
    this.finishesAtExit = true;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.guarded(() => this.send());
    }, PAUSE_MS).unref();
  }

  takeFromQueue() {
    if (this.out.length === 0 && this.queue.length > 0 && this.open.size < this.most) {
      const call = this.queue.shift();
      const head = Buffer.alloc(6);
      head.writeUInt32LE(++this.number);
      head.writeUInt16LE(call.name.length, 4);
      this.open.set(this.number, call);
      this.out.push(frameOf(CALL, head, call.name, call.text));
      call.text = null;
    }
    return this.out.length > 0;
  }

  // false: there is no room, or never will be.
  writeSome() {
    if (this.isBroken) return false;
    try {
      const count = writeSync(this.resultsFd, this.out[0]);
      if (count === this.out[0].length) this.out.shift();
      else this.out[0] = this.out[0].subarray(count);
      return true;
    } catch (error) {
      if (error.code === 'EAGAIN') return false;
      this.isBroken = true;
      this.end();
      return false;
    }
  }

  // A frame of results.js, whole behind what is under way, before this returns.
  write(frame) {
    this.out.push(frame);
    this.flush();
  }

  // The gateway may want to get rid of its answers first.
  flush() {
    while (this.out.length > 0 && !this.isBroken) if (!this.writeSome() && !this.readSome()) wait(never, 0, 0, PAUSE_MS);
  }

  // false: nothing has come.
  readSome() {
    if (this.hasEnded) return false;
    let count = 0;
    try {
      count = readSync(this.repliesFd, this.buffer, 0, READ_SIZE, null);
    } catch (error) {
      if (error.code === 'EAGAIN') return false;
    }
    if (count > 0) this.receive(this.buffer.subarray(0, count));
    else this.end();
    return true;
  }

  receive(bytes) {
    const take = (kind, payload) => this.give(kind, payload);
    if (!this.reader.feed(bytes, take)) this.end();
    this.send();
    this.hold();
  }

  // An answer that nobody waits for is dropped.
  give(kind, payload) {
    if (kind === LISTING && this.told === null && payload.length > LISTING_HEAD) {
      this.most = payload.readUInt32LE();
      this.told = payload.subarray(LISTING_HEAD);
    }
    if (kind !== ANSWER || payload.length < ANSWER_HEAD) return;
    const number = payload.readUInt32LE();
    const call = this.open.get(number);
    this.open.delete(number);
    call?.resolve({ form: payload[ANSWER_HEAD - 1], data: payload.subarray(ANSWER_HEAD) });
  }

  end(Reason = Ended) {
    this.hasEnded = true;
    const calls = [...this.open.values(), ...this.queue];
    this.open.clear();
    this.queue.length = 0;
    for (const call of calls) call.reject(new Reason(REASON));
    this.hold();
  }

  // The run goes on with other descriptors; Node closes that of answers, and the pipe if it watches it. The call that is under way is
  // finished, because the end of the cell is told behind it. Those that wait are not made any more.
  close() {
    for (const call of this.queue.splice(0)) call.reject(new CellEnded(REASON));
    this.flush();
    this.end(CellEnded);
    this.isBroken = this.isClosed = true;
    if (this.isSame(this.repliesFd, 1)) this.input?.destroy();
    if (this.isSame(this.resultsFd, 0)) this.output?.destroy();
  }
}

Object.assign(exports, { Channel, Ended, CellEnded });
