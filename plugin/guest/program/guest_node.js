// SPDX-License-Identifier: Apache-2.0
// Begins the Node of a container's run at the end of its own start, before it reads its program. The guest writes this file
// (guest_node.c) with the texts of the runner's parts in front of it (scripts/generate/join-scripts). NODE_OPTIONS names it by a
// descriptor. All of this is undone before the program begins, but for that descriptor. It is /dev/null then, and a thread of the
// program loads it.

const fs = require('fs');

const ADDON = 60, SCRIPT = 61, RESULTS = 63; // guest_program.h, run_description.h

function removeTraces() {
  const own = process.env.NODE_OPTIONS, end = own.indexOf(' ');
  if (end < 0) delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = own.slice(end + 1);
  const path = fs.realpathSync(__filename);
  fs.unlinkSync(path);
  fs.rmdirSync(path.slice(0, path.lastIndexOf('/')));
  delete require.cache[__filename];
}

// Opens /dev/null in the place of the script. below: what else is open for a moment.
function giveUpScript(below) {
  fs.closeSync(SCRIPT);
  for (let fd = fs.openSync('/dev/null'); fd < SCRIPT; fd = fs.openSync('/dev/null')) below.push(fd);
}

// Node closes in the program's child processes what it has opened itself, so the results are opened anew as well.
function takeDescriptors() {
  const below = [fs.openSync(`/proc/self/fd/${RESULTS}`, 'w')];
  const results = `/proc/self/fd/${below[0]}`;
  fs.closeSync(RESULTS);
  giveUpScript(below);
  for (let fd = fs.openSync(results, 'w'); fd < RESULTS; fd = fs.openSync(results, 'w')) below.push(fd);
  for (const fd of below) fs.closeSync(fd);
}

// The cells bring their own results.
function beginSession() {
  const below = [];
  giveUpScript(below);
  for (const fd of below) fs.closeSync(fd);
  load('session').begin(load('results'), `/proc/self/fd/${ADDON}`);
  fs.closeSync(ADDON);
}

function load(name) {
  const part = { exports: {} };
  const requireFromPart = (path) => (path.startsWith('./') ? load(path.slice(2, -'.js'.length)) : require(path));
  requireFromPart.cache = require.cache;
  const names = ['exports', 'require', 'module', '__filename', '__dirname'], path = `${__dirname}/${name}.js`;
  const run = require('vm').compileFunction(PARTS[name], names, { filename: path }); // by scripts/generate/join-scripts
  run(part.exports, requireFromPart, part, path, __dirname);
  return part.exports;
}

try {
  removeTraces();
  if (fs.fstatSync(0).isSocket()) beginSession();
  else {
    takeDescriptors();
    if (Object.hasOwn) load('results').begin(); // an older Node does not read the parts
  }
} catch (error) {
  // A program runs without results as well.
}
